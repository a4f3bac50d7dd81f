// Package client talks to a Rollcall server: it manages checks by the interface of API-V3.md, and it sends the pings
// of monitored jobs.
//
// A [Pinger] is all that a job needs. It takes the ping URL of a check:
//
//	p, err := client.NewPinger("https://rollcall.example.org/ping/"+id, nil)
//	err, pingErr := p.Run(ctx, backup)
//
// [Pinger.Run] reports the start of the function, and its success or failure with the error as text; what is wrong
// with the pings themselves is told apart, so that it can be ignored. The same by hand:
//
//	run, _ := p.Start(ctx)
//	if err := backup(ctx); err != nil {
//		_ = run.Fail(ctx, []byte(err.Error()))
//	} else {
//		_ = run.Success(ctx, nil)
//	}
//
// A [Client] manages the checks of a project, with an API key of it:
//
//	c, err := client.New("https://rollcall.example.org", key, nil)
//	check, created, err := c.Upsert(ctx, checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *")}, client.UniqueSlug)
//	p, err := client.NewPinger(check.PingURL, nil)
//
// Settings are a [checks.Spec], as for a monitor that is embedded in the program, and errors can be told apart in the
// same way: errors.Is(err, checks.ErrNotFound) holds for an answer of 404. What the server has answered is in an
// [Error].
//
// # What is repeated
//
// A request is sent again, after a pause that doubles each time and has some chance in it, when it got no answer or one
// that says "later" (429, 502, 503, 504), as long as Config.Tries and Config.Timeout allow. A Retry-After of the answer
// is kept to. That holds for what may be done twice: reading, pings, [Client.Update], [Client.Pause], and
// [Client.Upsert] when the second time is bound to find the check of the first. [Client.Create], [Client.Resume] and
// [Client.Delete] are sent again only after a 429, or when no connection could be made: never when the server may have
// acted.
//
// # Redirects
//
// A redirect (301, 302, 307, 308) is followed with the same method and body. It is not followed from https to http, and
// with an API key not to another host.
//
// The package works with Healthchecks servers as well. It depends on no database and no router.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of a [Config].
const (
	DefaultTimeout     = time.Minute
	DefaultPingTimeout = 10 * time.Second
	DefaultTries       = 5
)

// Config changes how a [Client] or a [Pinger] makes requests. The zero value of a field stands for its default.
type Config struct {
	// HTTPClient makes the requests: its Transport, Jar and Timeout are respected, and its CheckRedirect is not used.
	// It is not changed. Default: one with http.DefaultTransport.
	HTTPClient *http.Client
	// UserAgent is the header User-Agent of every request. Servers keep the first 200 characters of it with a ping.
	// Default: "rollcall-client".
	UserAgent string
	// Timeout is how long a call may take, with everything that is sent again. A single try of what may be sent
	// again may take half of it. Default: [DefaultTimeout] for a Client, [DefaultPingTimeout] for a Pinger.
	Timeout time.Duration
	// Tries is how often a request may be sent, 1 or more. Default: [DefaultTries].
	Tries int
}

// Client manages the checks of a project. Its methods may be called by many goroutines at once.
type Client struct {
	caller caller
	base   string // without a slash at the end
	key    string
}

// New returns a client for the server at {base_url}, an http or https URL such as "https://rollcall.example.org". The
// key is an API key of the project (API-V3.md section 5); a read-only key serves for reading checks, flips and badges.
// It makes no request. The error says what is wrong with an argument, and never contains the key.
func New(baseURL, key string, config *Config) (*Client, error) {
	u, err := parseURL(baseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("client: the base URL %w", err)
	case u.User != nil:
		return nil, errors.New("client: the base URL has a user")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("client: the base URL has a query")
	case key == "":
		return nil, errors.New("client: the API key is empty")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("client: the API key has characters that no key has")
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), key: key}
	if c.caller, err = newCaller(config, DefaultTimeout); err != nil {
		return nil, err
	}
	return c, nil
}

// parseURL reads an absolute http or https URL. The error continues a sentence and does not quote the URL, which may
// hold a password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("does not begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, errors.New("has a fragment")
	}
	return u, nil
}

// call is one request to the management interface.
type call struct {
	what   string // for errors, as in "create check"
	method string
	path   string // below {base_url}, escaped
	body   any    // nil, or a document that is sent as JSON
	repeat bool   // may be sent again though the server may have acted
	// means is the error that an answer with a status of section 7 stands for at this endpoint.
	means map[int]error
}

// request translates a call.
func (c *Client) request(k call) (request, error) {
	r := request{what: k.what, method: k.method, url: c.base + k.path, header: http.Header{}, repeat: k.repeat, sameHost: true, means: k.means}
	r.header.Set("X-Api-Key", c.key)
	r.header.Set("Accept", "application/json")
	if k.body != nil {
		body, err := json.Marshal(k.body)
		if err != nil {
			return request{}, fmt.Errorf("client: %s: %w", k.what, err)
		}
		r.body = body
		r.header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// json makes a request, decodes the document of its answer, and lets accept look at it.
func (c *Client) json(ctx context.Context, k call, into any, accept func() error) (status int, err error) {
	r, err := c.request(k)
	if err != nil {
		return 0, err
	}
	err = c.caller.do(ctx, r, func(a *answer) error {
		status = a.StatusCode
		if err := a.decode(into); err != nil {
			return err
		}
		return accept()
	})
	return status, err
}

// Status asks the server to run a query on its database, and returns nil when that succeeded (API-V3.md section 4.13).
func (c *Client) Status(ctx context.Context) error {
	r, err := c.request(call{what: "status", method: http.MethodGet, path: "/api/v3/status/", repeat: true})
	if err != nil {
		return err
	}
	return c.caller.do(ctx, r, func(*answer) error { return nil })
}
