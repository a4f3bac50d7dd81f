package main

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// minHeartbeat is the minimum of --heartbeat-every.
const minHeartbeat = time.Second

// heartbeatTries bounds the tries of a heartbeat, because an old one says nothing.
const heartbeatTries = 5

// operateFlags configure the metrics, the heartbeats, the access log and the shutdown of the service.
type operateFlags struct {
	MetricsListen  string        `group:"Operation:" placeholder:"HOST:PORT" help:"Address that serves Prometheus metrics at /metrics, without a key. Off by default."`
	HeartbeatURL   string        `secret:"" name:"heartbeat-url" group:"Operation:" placeholder:"URL" help:"Ping URL of a check at another Rollcall or Healthchecks, to which this server reports its health. Off by default."`
	HeartbeatEvery time.Duration `default:"1m" group:"Operation:" placeholder:"DURATION" help:"Time between heartbeats, at least 1s."`
	AccessLog      bool          `group:"Operation:" help:"Log every HTTP request with its route and status, but without its path, which may hold a key."`
	ShutdownDelay  time.Duration `default:"0s" group:"Operation:" placeholder:"DURATION" help:"How long the server still accepts requests after SIGTERM or SIGINT, while /readyz already fails."`
}

// validate checks the flags without using the network.
func (f *operateFlags) validate() error {
	if f.MetricsListen != "" {
		if err := validListen("--metrics-listen", f.MetricsListen); err != nil {
			return err
		}
	}
	_, err := f.pinger()
	return cmp.Or(
		console.AtLeast("--heartbeat-every", f.HeartbeatEvery, minHeartbeat), console.AtLeast("--shutdown-delay", f.ShutdownDelay, 0), err,
	)
}

// validateHeartbeat refuses a check of the server itself: a server that is down cannot say so.
func (f *operateFlags) validateHeartbeat(listening net.Addr, own ...console.Address) error {
	u, err := url.Parse(f.HeartbeatURL)
	if err != nil || f.HeartbeatURL == "" {
		return err
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	itself := (u.Hostname() == "localhost" || ip.IsLoopback()) && listening.(*net.TCPAddr).Port == port(u)
	for _, base := range own {
		b, err := url.Parse(string(base))
		itself = itself || err == nil && strings.EqualFold(b.Hostname(), u.Hostname()) && port(b) == port(u) && strings.HasPrefix(u.Path, b.Path+"/")
	}
	if itself {
		return console.Usagef("--heartbeat-url: is a check of this server, which could not report its own end; give one of another Rollcall or Healthchecks")
	}
	return nil
}

// port returns the port of an http or https URL.
func port(u *url.URL) int {
	if number, err := strconv.Atoi(u.Port()); err == nil {
		return number
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// pinger returns the pinger for heartbeats, or nil for none.
func (f *operateFlags) pinger() (*client.Pinger, error) {
	if f.HeartbeatURL == "" {
		return nil, nil
	}
	p, err := client.NewPinger(f.HeartbeatURL, &client.PingerConfig{Tries: heartbeatTries})
	if err != nil {
		return nil, fmt.Errorf("--heartbeat-url: %w", console.PlainError(err))
	}
	return p, nil
}
