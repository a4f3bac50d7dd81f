// Package client talks to a Rollcall server. A [Pinger] reports the runs of a job; a [Client] manages the checks of a
// project. Both work with Healthchecks servers too.
//
// # Pings
//
// A job needs a [Pinger] and the ping URL of its check:
//
//	p, err := client.NewPinger("https://rollcall.example.org/ping/"+id, nil)
//	if err != nil {
//		log.Print(err) // p is nil, and only runs the job
//	}
//	defer p.Close(ctx)
//	err = p.Run(ctx, backup)
//
// [Pinger.Run] reports the start of the function, then its success, or its failure with the error as text. It returns
// the error of the function alone, so that a job does not fail because its monitoring does. The same by hand:
//
//	run, _ := p.Start(ctx)
//	if err := backup(ctx); err != nil {
//		_ = run.Failure(ctx, []byte(err.Error()))
//	} else {
//		_ = run.Success(ctx, nil)
//	}
//
// # Checks
//
// A [Client] is a [checks.Manager]. It needs the URL of the server and an API key:
//
//	c, err := client.New("https://rollcall.example.org", key, nil)
//	spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
//	check, created, err := c.Upsert(ctx, spec, checks.UniqueSlug)
//	p, err := client.NewPinger(check.PingURL, nil)
//
// Settings and errors are those of the library. A [checks.Spec] holds the settings, errors.Is(err, checks.ErrNotFound)
// is true if the server has no such check, and a *[checks.FieldError] names the setting that the server refused. An
// [Error] holds the response itself. With a read-only key, a check has a UniqueKey and a BadgeURL, but no ID, Channels or
// PingURL: use [Client.CheckByUniqueKey], [Client.FlipsByUniqueKey] and [Client.StatsByUniqueKey].
//
// # Administration
//
// A key with the scope admin also manages channels, projects and status pages. A key of the installation gives access to
// all [Client.Projects], and [Client.Project] chooses one:
//
//	project, keys, err := c.Projects().Create(ctx, checks.ProjectSpec{Name: "backups"})
//	jobs := c.Project(project.ID)
//	_, err = jobs.CreateChannel(ctx, channels.Channel{Kind: "email", Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
//	_, err = jobs.CreateStatusPage(ctx, checks.StatusPage{Slug: "backups", Title: "Our backups"})
//
// The methods have the names and errors of those of package monitor: see [checks.Administrator] and [checks.Projects]. The
// server shows no secrets: a channel that it returns lists them in Hidden, and [Client.UpdateChannel] keeps those that are
// left out. Package checks/declare makes all of this match a file.
//
// # Answers of other programs
//
// A reverse proxy, a login page or a wrong URL may answer instead of the server. The error is then [ErrNotRollcall],
// and never [checks.ErrNotFound], [checks.ErrCheckLimit] or success, so that a program that deletes what it does not find
// is safe. An answer counts as the server's if it is one of these:
//
//   - to a ping: 200 or 201 with the body "OK" or "Created"; 404 with "not found"; 409 with "ambiguous slug"; 400 with
//     "invalid url format" or "invalid uuid format"; any other error with the header Ping-Body-Limit;
//   - a success of the API: the JSON document of the endpoint, or for [Client.PingBody] the type text/plain;
//   - an error of the API: a JSON object with a text "error", perhaps "field", and nothing else. A 404 with another text
//     than "not found" is about the path and not about a check;
//   - an error of the API of Healthchecks that has no such document: an empty body, or "check is not paused", with the
//     header Access-Control-Allow-Headers: X-Api-Key.
//
// A 429, and a status of 500 or above, may come from a proxy that speaks for the server, and says nothing about a check.
// 502, 503, 504 and no response are [checks.ErrUnavailable].
// Healthchecks answers a request for a missing check with the same page as a wrong path: that is ErrNotRollcall too.
//
// # Retries
//
// The package retries a request that got no response or a status of 429, 500, 502, 503 or 504, within Config.Tries
// and Config.Timeout. The first pause is about 0.2 seconds. Each further one is about twice as long, up to 15 seconds, with
// jitter. The package honours a longer Retry-After.
//
// If the server may already have acted, the package retries only what may safely take effect twice: reads, pings,
// [Client.Update], [Client.Pause], the updates of channels, projects and status pages, and [Client.Upsert] if a retry is
// certain to find the check that an earlier try created. It retries [Client.Create], [Client.Resume], [Client.Delete] and
// what else creates or deletes only after a 429 or a failure to connect.
//
// A [Pinger] tries once before a method returns, and retries in the background for as long as it takes. While a ping waits in
// memory, only the server's own refusal ends its tries. A ping that is sent more than a minute late has its own time in a header, as
// one of a queue does.
//
// # Rate limits
//
// A 429 pauses all calls of the [Client] for the time in Retry-After, or a time that doubles with each 429 of a call. The
// pause costs neither one of Config.Tries nor part of Config.Timeout. Config.MaxWait bounds the pauses of a call. If ctx
// or Config.MaxWait ends before the pause, the error is [ErrRateLimited]. A 429 of a ping concerns its [Pinger] alone and
// counts as a try.
//
// # Queue
//
// With PingerConfig.Queue, a [Pinger] keeps the pings that do not reach the server in files of that directory, and sends them
// later, in order: in the background, before its next ping, or when [Pinger.Flush] is called. The background gives up
// after PingerConfig.Tries, until the next ping. Call Flush from time to time if the job runs rarely. A ping that was kept
// returns an [ErrQueued] with the cause.
//
//   - A ping is kept after no answer, a 429, a status of 500 or above, or [ErrNotRollcall], but not after a refusal such
//     as 404 or 400. It is durable when the method returns, and survives kill -9 and a loss of power.
//   - A ping that is sent more than a minute late has its own time in the header Rollcall-At, such as
//     2026-03-01T12:00:00.000000Z. A server that accepts late pings (rollcall serve --accept-late) logs it at that time
//     and does not alert about it. It refuses one that is too old.
//   - Any other server ignores the header, and the ping counts at its arrival. A late success then says that the job is
//     alive at that moment, and may hide for one more period that it is not. A new ping of the job follows at once and
//     puts that right, but not after Flush alone: flush only to a server that accepts late pings.
//   - Old pings do not delay a job: while they wait, a new one is kept at once, so that pings never overtake each other.
//   - Any number of goroutines and processes can use the directory. Each ping URL has a subdirectory, named by a hash of
//     the URL, and only one process at a time sends its pings. After a change of the URL, the pings of the old one stay
//     in their subdirectory until a Pinger has the old URL.
//   - At most 1000 pings and 32 MiB are kept for a ping URL. Beyond that the oldest ping is deleted, and OnPingError says
//     so.
//   - A file that cannot be read gets the extension .corrupt, and a ping that the server refuses gets .refused, so that
//     neither holds up the others; the error names the file. Delete it, or rename it to .ping to send it again.
//   - The files are readable by their owner alone. They hold the bodies of the pings, but not the ping URL.
//   - A ping whose answer was lost, or whose process was killed before it could delete the file, is in the log twice.
//
// A queue needs file locks: on Windows, [NewPinger] refuses it.
//
// # Redirects
//
// The package follows a redirect (301, 302, 307 or 308) with the same method and body, but only within the origin:
// scheme, host and port must stay the same. The one exception is the upgrade from http to https on the same host and
// the default ports. Any other redirect is an [Error] that names the new origin. Neither the API key nor the output of
// a job thus reaches a server that nobody configured.
//
// The package depends on no database and no router.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Defaults of a [Config].
const (
	defaultTimeout     = time.Minute
	defaultPingTimeout = 5 * time.Second
	defaultTries       = 5
	defaultMaxWait     = 15 * time.Minute
)

// Config configures a [Client]. The zero value of a field selects its default.
type Config struct {
	// HTTPClient makes the requests. Its CheckRedirect is ignored. Default: an http.Client with http.DefaultTransport.
	HTTPClient *http.Client
	// UserAgent is the User-Agent header of every request. The log of a check shows its first 200 characters.
	// Default: "rollcall-client".
	UserAgent string
	// Timeout bounds a call with all its retries, but without the pauses after a 429. A try that can be retried gets at most
	// half of it. Default: 1 minute.
	Timeout time.Duration
	// Tries is the maximum number of times that a request is sent. Those that got a 429 do not count. Default: 5.
	Tries int
	// MaxWait bounds the pauses of a call after 429s together. If the server asks for a longer one, or after 100 such answers, the
	// call ends with [ErrRateLimited]. Default: 15 minutes.
	MaxWait time.Duration
	// OnRetry, unless nil, is called before a call waits to send a request again, so that a program can tell its user. The
	// error is that of the last try, such as an [*Error]. Calls may overlap if those of the Client do.
	OnRetry func(err error, wait time.Duration)
	// OnWarning, unless nil, is called with each warning of an answer: the server did what it was asked to do, but that is likely not
	// what was meant, such as a window for a tag that no check has.
	OnWarning func(text string)
	// Pinger configures the pingers that [Client.Register] returns. Its HTTPClient and UserAgent are by default those above.
	Pinger PingerConfig
}

// PingerConfig configures a [Pinger]. The zero value of a field selects its default.
type PingerConfig struct {
	// HTTPClient and UserAgent are as in [Config].
	HTTPClient *http.Client
	UserAgent  string
	// Timeout bounds one try to send a ping, and so the time that a ping takes of its job. Default: 5 seconds.
	Timeout time.Duration
	// Tries is the maximum number of times that each ping is sent. With 1, a Pinger without a queue does nothing in the
	// background. With a queue, it is that of tries in a row which fail, until the next ping. Default: 5 with a queue, otherwise
	// no limit.
	Tries int
	// MaxWait is the longest pause that a server may ask for by Retry-After. A ping whose method is told to wait longer is not
	// kept; in the background, the Pinger tries again after MaxWait. Default: 15 minutes.
	MaxWait time.Duration
	// Queue is a directory in which the Pinger keeps the pings that it could not send; see the package comment. Default: it
	// keeps them in memory, at most 10,000 pings with 32 MiB of bodies.
	Queue string
	// Job configures how the Pinger reports runs. It ignores BodyLimit, because the server states the limit. OnPingError also
	// receives the errors of the background.
	Job job.Config
}

// requests returns what is about the requests.
func (c PingerConfig) requests() Config {
	return Config{HTTPClient: c.HTTPClient, UserAgent: c.UserAgent, Timeout: c.Timeout, Tries: c.Tries, MaxWait: c.MaxWait}
}

// keyLength is the length of an API key, of Rollcall and of Healthchecks.
const keyLength = 32

// Client manages the checks of a project. It is a [checks.Manager], and with an admin key a [checks.Administrator]. It is safe for
// concurrent use.
type Client struct {
	caller *caller
	config PingerConfig // of the pingers that Register makes
	base   string       // without a trailing slash
	key    string
	// project is the project of all requests, or zero if that is the key's own.
	project uuid.UUID

	registered *registered
}

// registered are the pingers that [Client.Register] made, by ping URL.
type registered struct {
	mu      sync.Mutex
	pingers map[string]*Pinger
	pending map[string]*Pinger // by server, key, project and slug, until their check is registered
}

var _ checks.Administrator = (*Client)(nil)

// New returns a client for the server at baseURL, such as "https://rollcall.example.org". The key is an API key, 32
// characters. A key of a project gives access to that project; a read-only one can read checks, flips, statistics and
// badges. A key of the installation needs [Client.Project]. New makes no request. Its error says which argument is wrong
// and never contains the key. The Client is then nil: its methods
// return errors, and it registers no jobs but lets them run; see [Client.Register].
func New(baseURL, key string, config *Config) (*Client, error) {
	u, err := parseURL(baseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("client: the base URL %w", err)
	case u.User != nil:
		return nil, errors.New("client: the base URL must not contain a user name")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("client: the base URL must not contain a query")
	case len(key) != keyLength:
		return nil, fmt.Errorf("client: the API key has %d characters, but every API key has %d", utf8.RuneCountInString(key), keyLength)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("client: the API key must consist of printable ASCII characters without spaces")
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), key: key, registered: &registered{pingers: make(map[string]*Pinger), pending: make(map[string]*Pinger)}}
	var own Config
	if config != nil {
		own = *config
	}
	c.config = own.Pinger
	c.config.HTTPClient = cmp.Or(c.config.HTTPClient, own.HTTPClient)
	c.config.UserAgent = cmp.Or(c.config.UserAgent, own.UserAgent)
	if _, err = newCaller(c.config.requests(), defaultPingTimeout); err != nil {
		return nil, err
	}
	if c.caller, err = newCaller(own, defaultTimeout); err != nil {
		return nil, err
	}
	return c, nil
}

// parseURL parses an absolute http or https URL. The caller puts the subject before its error. The error does not quote
// the URL, which may hold a password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, unicode.IsSpace):
		return nil, errors.New("contains white space")
	case strings.HasPrefix(text, "\ufeff"):
		return nil, errors.New("begins with a byte order mark")
	case err != nil:
		return nil, errors.New("is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, errors.New("must not contain a fragment")
	}
	return u, nil
}

// call is a request to the management API.
type call struct {
	name       string // for errors, such as "create check"
	method     string
	path       string // below the base URL, escaped
	body       any    // sent as JSON unless nil
	idempotent bool   // may be retried after the server may have acted
	causes     map[int]error
	kind       channels.Kind // of the channel, if the body has one
}

// Project returns a client for the project with this identifier: its requests name the project, as those with a key of
// the installation must. A key of a project ignores that. The clients share the pauses after a 429 and the pingers of
// [Client.Register]. The zero identifier returns a client whose requests name no project.
func (c *Client) Project(id uuid.UUID) *Client {
	if c == nil {
		return nil
	}
	p := *c
	p.project = id
	return &p
}

// HasAdminKey reports whether the key has the scope admin, by the prefix of such keys. The server has the last word.
func (c *Client) HasAdminKey() bool { return c != nil && strings.HasPrefix(c.key, "rca_") }

func (c *Client) request(k call) (request, error) {
	if c == nil || c.caller == nil {
		return request{}, fmt.Errorf("client: %s: %w", k.name, errNoClient)
	}
	if c.project != uuid.Nil {
		separator := "?"
		if strings.Contains(k.path, "?") {
			separator = "&"
		}
		k.path += separator + "project=" + c.project.String()
	}
	r := request{
		name: k.name, method: k.method, url: c.base + k.path, header: http.Header{},
		idempotent: k.idempotent, meaning: func(f refusal) error { return f.ofAPI(k) },
	}
	r.header.Set("X-Api-Key", c.key)
	r.header.Set("Accept", "application/json")
	if k.body != nil {
		body, err := json.Marshal(k.body)
		if err != nil {
			return request{}, fmt.Errorf("client: %s: %w", k.name, err)
		}
		r.body = body
		r.header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// do makes a call and translates the JSON document that it returns.
func do[D, V any](ctx context.Context, c *Client, k call, translate func(D) (V, error)) (value V, status int, err error) {
	r, err := c.request(k)
	if err != nil {
		return value, 0, err
	}
	err = c.caller.do(ctx, r, func(res *http.Response) error {
		var document D
		if err := decode(res, &document); err != nil {
			return err
		}
		status = res.StatusCode
		var err error
		if value, err = translate(document); err != nil {
			return fmt.Errorf("%w: %w", ErrNotRollcall, err)
		}
		return nil
	})
	return value, status, err
}

// get reads the document at a path.
func get[D, V any](ctx context.Context, c *Client, name, path string, translate func(D) (V, error)) (V, error) {
	value, _, err := do(ctx, c, call{name: name, method: http.MethodGet, path: path, idempotent: true}, translate)
	return value, err
}

// errMissing is the error for a response without its list: another program's response must not pass for an empty list.
func errMissing(key string) error { return fmt.Errorf("the response has no %s", key) }

// each translates a list of documents. For a nil list, it returns an error that names the key.
func each[D, V any](key string, documents []D, translate func(D) (V, error)) ([]V, error) {
	if documents == nil {
		return nil, errMissing(key)
	}
	list := make([]V, len(documents))
	for i, d := range documents {
		var err error
		if list[i], err = translate(d); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Fetch decodes the JSON document at a path of the server, such as "/api/v1/checks/", into the value that into points
// to. Use it for documents that have no method here. It sends the API key and retries like any read. Any JSON passes for
// the answer of a server.
func (c *Client) Fetch(ctx context.Context, path string, into any) error {
	r, err := c.request(call{name: "fetch " + path, method: http.MethodGet, path: path, idempotent: true})
	if err != nil {
		return err
	}
	return c.caller.do(ctx, r, func(res *http.Response) error { return decode(res, into) })
}

// noDatabase is the text of the 500 of [Client.Probe] (server/API.md section 4.13).
const noDatabase = "the database does not answer"

// Probe tests that the server's database answers queries. It needs no valid key. If it does not, the error is
// [checks.ErrUnavailable].
func (c *Client) Probe(ctx context.Context) error {
	r, err := c.request(call{name: "probe", method: http.MethodGet, path: "/api/v3/status/", idempotent: true})
	if err != nil {
		return err
	}
	err = c.caller.do(ctx, r, func(res *http.Response) error {
		text, err := readAll(res)
		if err != nil {
			return err
		}
		var document wire.Status
		if string(bytes.TrimSpace(text)) != "OK" && (json.Unmarshal(text, &document) != nil || document.Status == "") { // "OK" is that of Healthchecks
			return ErrNotRollcall
		}
		return nil
	})
	if e, ok := errors.AsType[*Error](err); ok && e.StatusCode == http.StatusInternalServerError && e.Message == noDatabase {
		e.cause = checks.ErrUnavailable
	}
	return err
}
