package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/metrics"
)

// minHeartbeat is the minimum of --heartbeat-every.
const minHeartbeat = time.Second

// operateFlags configure how the service itself is watched and stopped.
type operateFlags struct {
	MetricsListen  string        `group:"Operation:" placeholder:"HOST:PORT" help:"Address of the metrics for Prometheus, at /metrics and without a key. None by default."`
	HeartbeatURL   string        `secret:"" name:"heartbeat-url" group:"Operation:" placeholder:"URL" help:"Ping URL of a check at another Rollcall or Healthchecks, which receives the health of this server. None by default."`
	HeartbeatEvery time.Duration `default:"1m" group:"Operation:" placeholder:"DURATION" help:"Time between heartbeats, at least 1s."`
	AccessLog      bool          `group:"Operation:" help:"Log every HTTP request with its route and status, but without its path, which may hold a key."`
	ShutdownDelay  time.Duration `default:"0s" group:"Operation:" placeholder:"DURATION" help:"How long the server accepts requests after SIGTERM or SIGINT, while /readyz already fails."`
}

// validate checks the flags without using the network.
func (f *operateFlags) validate() error {
	if f.MetricsListen != "" {
		_, port, err := net.SplitHostPort(f.MetricsListen)
		if err != nil {
			return errors.New("--metrics-listen: must be of the form HOST:PORT")
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("--metrics-listen: the port must be 0 to 65535: %q", port)
		}
	}
	switch {
	case f.HeartbeatEvery < minHeartbeat:
		return fmt.Errorf("--heartbeat-every: is too small: %v, the minimum is %v", f.HeartbeatEvery, minHeartbeat)
	case f.ShutdownDelay < 0:
		return fmt.Errorf("--shutdown-delay: is too small: %v, the minimum is 0s", f.ShutdownDelay)
	}
	_, err := f.pinger()
	return err
}

// pinger returns the pinger for heartbeats, or nil for none.
func (f *operateFlags) pinger() (*client.Pinger, error) {
	if f.HeartbeatURL == "" {
		return nil, nil
	}
	p, err := client.NewPinger(f.HeartbeatURL, nil)
	if err != nil {
		return nil, fmt.Errorf("--heartbeat-url: %w", err)
	}
	return p, nil
}

// gauges is the server of metrics. A nil one is off.
type gauges struct {
	*metrics.Metrics
	listener net.Listener
}

// listen takes the address of metrics. The caller closes what is returned.
func (f *operateFlags) listen() (*gauges, error) {
	if f.MetricsListen == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", f.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", f.MetricsListen, listenReason(err))
	}
	return &gauges{metrics.New(), listener}, nil
}

func (g *gauges) close() {
	if g != nil {
		g.listener.Close()
	}
}

// announce says where the metrics are.
func (g *gauges) announce(stdout io.Writer) {
	if g != nil {
		fmt.Fprintf(stdout, "rollcall: metrics on http://%s/metrics\n", g.listener.Addr())
	}
}

// operate begins to serve metrics and to send heartbeats, until ctx ends and the returned group is waited for. That
// metrics cannot be served any more is logged, and ends nothing.
func (c *serveCmd) operate(ctx context.Context, mon *monitor.Monitor, log *slog.Logger, g *gauges, background *sync.WaitGroup) error {
	pinger, err := c.Operate.pinger()
	if err != nil {
		return usageError{err}
	}
	if pinger != nil {
		background.Go(func() { _ = mon.Heartbeat(ctx, c.Operate.HeartbeatEvery, pinger) }) // its error is that of ctx
	}
	if g == nil {
		return nil
	}
	g.Watch(mon)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.Handler())
	web := newWeb(mux, log)
	limited, err := server.LimitConns(web, g.listener, server.ConnLimits{Total: maxScrapers})
	if err != nil {
		return err
	}
	background.Go(func() {
		if err := web.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics cannot be served", "error", err)
		}
	})
	background.Go(func() {
		<-ctx.Done()
		web.Close()
	})
	return nil
}
