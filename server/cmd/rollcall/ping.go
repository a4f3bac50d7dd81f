package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// target selects the check to ping.
type target struct {
	PingURL     string          `name:"ping-url" secret:"" group:"Check, one of these forms:" placeholder:"URL" help:"Ping URL of the check."`
	UUID        string          `name:"uuid" secret:"" group:"Check, one of these forms:" placeholder:"UUID" help:"UUID of the check, with --ping-base-url."`
	Slug        string          `group:"Check, one of these forms:" placeholder:"SLUG" help:"Slug of the check, with --ping-key and --ping-base-url."`
	PingKey     string          `secret:"" group:"Check, one of these forms:" placeholder:"KEY" help:"Ping key of the project."`
	PingBaseURL console.Address `default:"http://localhost:8000/ping" group:"Check, one of these forms:" placeholder:"URL" help:"URL of the ping endpoints."`
	Create      bool            `group:"Check, one of these forms:" help:"Create the check if none has this slug."`
	Settings    string          `completion:"file" placeholder:"FILE" help:"File with these settings, such as ROLLCALL_PING_KEY=KEY, one a line as in rollcall.env. Flags outrank it, and it outranks the environment. The command does not see them."`
	Timeout     time.Duration   `default:"10s" placeholder:"DURATION" help:"Time limit of a ping, including retries. A command waits for it only at its end."`
	Queue       string          `completion:"directory" placeholder:"DIR" help:"Directory that queues pings that cannot reach the server. The next ping sends them first. Off by default."`
}

// missing says which flags still lack to select a check.
func (t *target) missing() error {
	switch {
	case t.Slug != "" && t.PingKey == "":
		return errors.New("--slug: requires --ping-key")
	case t.PingURL == "" && t.UUID == "" && t.Slug == "":
		return errors.New("which check? Give --ping-url, --uuid, or --slug with --ping-key")
	}
	return nil
}

// validate checks the flags that are given. Others may be missing.
func (t *target) validate() error {
	forms := 0
	for _, form := range []string{t.PingURL, t.UUID, t.Slug} {
		if form != "" {
			forms++
		}
	}
	switch {
	case forms > 1:
		return errors.New("--ping-url, --uuid and --slug exclude each other")
	case strings.ContainsFunc(t.PingKey, blank):
		return errors.New("--ping-key: must not contain blanks or line breaks")
	case t.Slug != "" && !checks.ValidSlug(t.Slug):
		return fmt.Errorf("--slug: may only have up to %d of a-z, 0-9, hyphen and underscore", checks.MaxSlug)
	case t.Create && t.Slug == "" && forms > 0:
		return errors.New("--create: requires --slug")
	case t.Timeout <= 0:
		return errors.New("--timeout: must be more than 0s")
	}
	if _, ok := console.ParseUUID(t.UUID); t.UUID != "" && !ok {
		return errors.New("--uuid: is not a UUID")
	}
	if t.missing() != nil {
		return nil
	}
	if _, err := t.newPinger("", "", nil); err != nil {
		return console.PlainError(err)
	}
	return nil
}

// blank reports whether r is no part of a URL, an identifier or a key.
func blank(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || string(r) == console.ByteOrderMark
}

// sending sends the pings of a command and collects what goes wrong.
type sending struct {
	*client.Pinger
	mu    sync.Mutex
	held  []error // of pings that are retried
	final []error
}

// pinger returns the pinger for the check. If it cannot have its queue, it says so and has none.
func (t *target) pinger(a *app, userAgent string) (*sending, error) {
	s := &sending{}
	var err error
	if s.Pinger, err = t.newPinger(userAgent, t.Queue, s.note); err != nil && t.Queue != "" {
		console.Fail(a.stderr, console.PlainError(err))
		s.Pinger, err = t.newPinger(userAgent, "", s.note)
	}
	return s, err
}

// note collects an error of a ping. One that is retried counts only if the retries fail.
func (s *sending) note(_ context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.final = append(s.final, err)
}

// ping sends a signal.
func (s *sending) ping(ctx context.Context, signal pings.Signal) {
	err := s.Ping(ctx, signal)
	switch {
	case err == nil:
	case errors.Is(err, client.ErrQueued), errors.Is(err, client.ErrPending):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = append(s.held, err)
	default:
		s.note(ctx, err)
	}
}

// finish waits for the pings that are retried, and returns what was not sent.
func (s *sending) finish(ctx context.Context) (failed []error) {
	err := s.Close(ctx)
	failed = s.final
	if err != nil {
		failed = append(failed, s.held...)
	}
	for i, err := range failed {
		failed[i] = errors.New(strings.TrimSuffix(console.PlainError(err).Error(), "; "+client.ErrPending.Error()))
	}
	return failed
}

func (t *target) newPinger(userAgent, queue string, onError func(context.Context, error)) (*client.Pinger, error) {
	url := t.PingURL
	switch {
	case t.UUID != "":
		url = string(t.PingBaseURL) + "/" + strings.ToLower(t.UUID)
	case t.Slug != "":
		url = client.SlugURL(string(t.PingBaseURL), t.PingKey, t.Slug)
	}
	if t.Create {
		url += "?create=1"
	}
	// Half of the time, so that there is some for a retry.
	return client.NewPinger(url, &client.PingerConfig{Timeout: t.Timeout / 2, UserAgent: userAgent, Queue: queue, Job: job.Config{OnPingError: onError}})
}

type pingCmd struct {
	target `embed:""`
	Body   string `placeholder:"TEXT" help:"Body of the ping; - reads it from standard input. Of a long body, the beginning and the end are sent."`
	RunID  string `name:"run-id" placeholder:"UUID" help:"Id of the run that the ping belongs to. rollcall run sets it for its command."`

	FromSystemd bool `env:"-" help:"Report how a service of systemd ended, in its ExecStopPost=, and take the run id from the service."`

	Signal string `arg:"" optional:"" default:"success" completion:"success,start,fail,log,flush" help:"What the job reports: success, start, fail, log, or its exit status, 0 to 255. Or flush, which only sends the pings in the queue."`
}

func (pingCmd) Help() string {
	return `The exit status is 0 if the server accepted the ping, and 1 if not, even if --queue keeps the ping for later.

Examples:

    rollcall ping --ping-url https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f
    rollcall ping start --slug backup --ping-key KEY --create
    df -h | rollcall ping log --body=-
    rollcall ping --queue ~/.rollcall-queue flush

In a service of systemd, with a file that holds ROLLCALL_PING_BASE_URL and ROLLCALL_PING_KEY:

    ExecStartPre=-/usr/bin/rollcall ping start --from-systemd --settings /etc/rollcall/ping.env --slug backup
    ExecStopPost=-/usr/bin/rollcall ping --from-systemd --settings /etc/rollcall/ping.env --slug backup`
}

// flush is the signal that stands for none.
const flush = "flush"

// Validate checks the command line. Kong calls it.
func (c *pingCmd) Validate() error {
	if c.Signal == flush {
		if c.Queue == "" {
			return errors.New("flush: requires --queue")
		}
	} else if _, err := c.signal(); err != nil {
		return err
	}
	return cmp.Or(c.target.missing(), c.target.validate())
}

// signal returns the signal without its body.
func (c *pingCmd) signal() (pings.Signal, error) {
	var s pings.Signal
	switch kind := pings.Kind(c.Signal); kind {
	case pings.Success, pings.Start, pings.Failure, pings.Log:
		s.Kind = kind
	default:
		status, err := strconv.ParseUint(c.Signal, 10, 8)
		if err != nil {
			return s, fmt.Errorf("the signal must be success, start, fail, log, or an exit status of 0 to 255: %q", c.Signal)
		}
		s = exitSignal(int(status))
	}
	if c.FromSystemd {
		var err error
		if s, err = c.fromSystemd(s); err != nil {
			return s, err
		}
	}
	if c.RunID != "" {
		id, ok := console.ParseUUID(c.RunID)
		if !ok {
			return s, errors.New("--run-id: is not a UUID")
		}
		s.RunID = uuid.NullUUID{UUID: id, Valid: true}
	}
	return s, nil
}

// fromSystemd completes the signal of a command in a service: its run id is the service's invocation, and a success is what
// systemd says of the service, as in ExecStopPost=. The variables are those of systemd.exec(5).
func (c *pingCmd) fromSystemd(s pings.Signal) (pings.Signal, error) {
	if id, err := uuid.Parse(os.Getenv("INVOCATION_ID")); err == nil {
		s.RunID = uuid.NullUUID{UUID: id, Valid: true}
	}
	if c.Signal != string(pings.Success) {
		return s, nil
	}
	result, code, status := os.Getenv("SERVICE_RESULT"), os.Getenv("EXIT_CODE"), os.Getenv("EXIT_STATUS")
	number, err := strconv.ParseUint(status, 10, 8)
	switch {
	case result == "":
		return s, errors.New("--from-systemd: $SERVICE_RESULT is missing, which systemd sets in ExecStopPost=; in ExecStartPre=, use ping start")
	case result == "success" && code == "exited" && number == 0 && err == nil:
		return pings.Signal{RunID: s.RunID, Kind: pings.Success, ExitStatus: new(0)}, nil
	case result == "success", result == "exec-condition": // SuccessExitStatus= may name others, and a condition skips the run
	default:
		s.Kind = pings.Failure
		if code == "exited" && number > 0 && err == nil {
			s.ExitStatus = new(int(number))
		} else if killed := signalNumber(status); killed > 0 {
			s.ExitStatus = new(exitSignaled + killed)
		}
	}
	s.Body = []byte(strings.TrimSpace(fmt.Sprintf("systemd: %s: %s %s", result, code, status)))
	return s, nil
}

// exitSignal returns the signal for a job's exit status, 0 to 255.
func exitSignal(status int) pings.Signal {
	if status == 0 {
		return pings.Signal{Kind: pings.Success, ExitStatus: &status}
	}
	return pings.Signal{Kind: pings.Failure, ExitStatus: &status}
}

// maxInput bounds what ping reads of standard input in bytes, so that an input without an end is a ping, too.
const maxInput = 1 << 30

func (c *pingCmd) Run(ctx context.Context, a *app) error {
	p, err := c.pinger(a, "rollcall ping")
	if err != nil {
		return err
	}
	if c.Signal == flush {
		if err := p.Flush(ctx); err != nil {
			return console.PlainError(err)
		}
		return nil
	}
	s, err := c.signal()
	if err != nil {
		return err
	}
	if c.Body != "" {
		s.Body = []byte(c.Body)
	}
	if c.Body == "-" {
		input := pings.NewEnds(p.BodyLimit())
		if _, err := io.Copy(input, io.LimitReader(os.Stdin, maxInput)); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		s.Body, s.BodyCut = input.Body()
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	p.ping(ctx, s)
	failed := p.finish(ctx)
	if len(failed) == 0 {
		return nil
	}
	for _, err := range failed[1:] {
		console.Fail(a.stderr, err)
	}
	return failed[0]
}
