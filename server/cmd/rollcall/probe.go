package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// maxProbeAnswer bounds the answer of a server that probe reads, in bytes.
const maxProbeAnswer = 4 << 10

type probeCmd struct {
	URL     console.Address `arg:"" optional:"" help:"URL of the server (default: the server on this machine, by --listen)."`
	Listen  string          `default:"127.0.0.1:8000" placeholder:"HOST:PORT" help:"Listen address of the server, as given to serve. Without HOST and for 0.0.0.0, probe connects to 127.0.0.1, for [::] to ::1, and if that does not answer to the other of the two."`
	Live    bool            `help:"Check only that the process is running (/livez), whatever the state of the database."`
	Timeout time.Duration   `env:"-" default:"5s" placeholder:"DURATION" help:"How long to wait for the answer."`
	console.JSONFlag
}

func (probeCmd) Help() string {
	return `The exit status is 0 if the server is ready to take pings (/readyz), and 1 if not. Health checks of containers and
scripts need no other program.

With --json: {"url", "ok", "error"}, where url is what was asked, and error is "" if ok is true.

Examples:

    rollcall probe
    rollcall probe --live --listen :8000
    rollcall probe https://rollcall.example.org`
}

// Validate checks the flags. Kong calls it.
func (c *probeCmd) Validate() error {
	if c.Timeout <= 0 {
		return errors.New("--timeout: must be more than 0s")
	}
	if c.URL != "" {
		return nil
	}
	if err := validListen("--listen", c.Listen); err != nil {
		return err
	}
	if _, port, _ := net.SplitHostPort(c.Listen); strings.Trim(port, "0") == "" {
		return errors.New("--listen: with port 0, serve picks a port that probe cannot know; give the URL")
	}
	return nil
}

// targets returns the URLs to ask until one answers. A server on all addresses of IPv6 has either loopback address, by what the
// system is set to; the name localhost needs a file that an image may lack.
func (c *probeCmd) targets() []string {
	path := "/readyz"
	if c.Live {
		path = "/livez"
	}
	if c.URL != "" {
		return []string{string(c.URL) + path}
	}
	host, port, _ := net.SplitHostPort(c.Listen)
	hosts := []string{host}
	switch ip, err := netip.ParseAddr(host); {
	case host == "" || err == nil && ip.IsUnspecified() && ip.Is4():
		hosts = []string{"127.0.0.1", "::1"}
	case err == nil && ip.IsUnspecified():
		hosts = []string{"::1", "127.0.0.1"}
	}
	for i, host := range hosts {
		hosts[i] = (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}).String() + path
	}
	return hosts
}

func (c *probeCmd) Run(ctx context.Context, a *app) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	document := struct {
		URL   string `json:"url"`
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}{}
	var err error
	for i, target := range c.targets() {
		reached, answer := probe(ctx, target)
		if i == 0 || reached {
			document.URL, err = target, answer
		}
		if reached {
			break
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("does not answer within %v", c.Timeout)
	}
	if err != nil {
		err = fmt.Errorf("probe: %s: %w", document.URL, err)
		document.Error = err.Error()
		if !c.JSON {
			return err
		}
	}
	document.OK = err == nil
	return errors.Join(c.Say(a.stdout, document, "%s: ok", document.URL), err)
}

// probe asks a health endpoint of a server. The error is nil only for the answer of a healthy Rollcall
// server. reached is false if nothing accepts connections there.
func probe(ctx context.Context, url string) (reached bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("User-Agent", "rollcall probe")
	// A proxy or the target of a redirect would answer for another server.
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxProbeAnswer}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		if tlsFailure, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			return true, tlsFailure.Err
		}
		op, isNet := errors.AsType[*net.OpError](err)
		return !isNet || op.Op != "dial", fmt.Errorf("does not answer: %w", console.NetReason(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxProbeAnswer))
	if err != nil {
		return true, fmt.Errorf("does not finish its answer: %w", console.NetReason(err))
	}
	text := strings.TrimSpace(string(body))
	switch {
	case answer.StatusCode == http.StatusOK && text == "ok":
		return true, nil
	case answer.StatusCode == http.StatusServiceUnavailable && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain"):
		return true, errors.New(strings.ReplaceAll(text, "\n", "; "))
	case answer.StatusCode == http.StatusOK:
		return true, errors.New("answers, but not as a Rollcall server")
	}
	return true, fmt.Errorf("answers with status %s", answer.Status)
}
