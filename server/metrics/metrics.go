// Package metrics tells Prometheus how a Rollcall server is. It observes a [monitor.Monitor] and the handlers of
// package server, and is a collector for the registry of the program that embeds them:
//
//	m := metrics.New()
//	mon, err := monitor.New(store, &monitor.Config{Observer: m})
//	m.Watch(mon)
//	srv, err := server.New(mon, &server.Config{Observer: m, Signer: signer})
//	prometheus.MustRegister(m)
//
// A program that has no registry serves [Metrics.Handler], which adds the metrics of the Go runtime and the process.
//
// The metrics are about the process, and those of all processes on one database are to be added up, but for
// rollcall_deliveries_pending and rollcall_delivery_oldest_due_age_seconds, which each reads from the database, every
// ten seconds at most. No label has a value that a client can choose.
//
// What the checks of a project are like is told by the server itself, at /api/v3/metrics/.
package metrics

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// backlogEvery is how often the outbox is looked at, however often metrics are read.
	backlogEvery = 10 * time.Second
	// backlogTimeout is how long the database has to answer.
	backlogTimeout = 2 * time.Second
	// maxScrapes is how many requests for metrics are answered at once.
	maxScrapes = 4
)

// Source is what a [Metrics] reads when it is itself read. A *[monitor.Monitor] is one.
type Source interface {
	Now() time.Time
	Queued() int
	Backlog(ctx context.Context) (monitor.Backlog, error)
}

var _ Source = (*monitor.Monitor)(nil)

// Metrics observes and is a collector. All methods may be called by many goroutines at once.
type Metrics struct {
	pings         *prometheus.CounterVec // by kind
	pingsFailed   prometheus.Counter
	pingsRefused  prometheus.Counter
	batchesFailed prometheus.Counter
	batchSize     prometheus.Histogram
	commit        prometheus.Histogram

	lag       prometheus.Histogram
	lastSweep prometheus.Gauge

	attempts *prometheus.CounterVec   // by kind and outcome
	delivery *prometheus.HistogramVec // by kind

	requests *prometheus.CounterVec   // by route, method and code
	request  *prometheus.HistogramVec // by route
	limited  prometheus.Counter

	build prometheus.Gauge

	queue, pending, oldest *prometheus.Desc

	mu      sync.Mutex
	source  Source // nil before Watch
	backlog monitor.Backlog
	known   bool // backlog has been read
	read    time.Time
}

var (
	_ prometheus.Collector = (*Metrics)(nil)
	_ monitor.Observer     = (*Metrics)(nil)
)

// New returns metrics that are all zero.
func New() *Metrics {
	m := &Metrics{
		pings:         counters("pings_total", "Pings that were recorded, by what their checks made of them.", "kind"),
		pingsFailed:   counter("pings_failed_total", "Pings that could not be written to the database."),
		pingsRefused:  counter("pings_refused_total", "Pings that were refused because too many waited to be written."),
		batchesFailed: counter("ping_batches_failed_total", "Transactions of pings that have failed."),
		batchSize: histogram("ping_batch_size", "How many pings were recorded in one transaction.",
			prometheus.ExponentialBuckets(1, 2, 10)),
		commit: histogram("ping_commit_duration_seconds", "How long a transaction of pings took until it was durable.",
			[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}),
		lag: histogram("overdue_lag_seconds", "How long after its deadline the watcher took a check down.",
			[]float64{.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200}),
		lastSweep: prometheus.NewGauge(prometheus.GaugeOpts{Name: "rollcall_sweep_last_success_timestamp_seconds",
			Help: "When overdue checks were last looked for with success."}),
		attempts: counters("delivery_attempts_total", "Attempts to deliver an alert, by kind of channel and outcome.",
			"kind", "outcome"),
		delivery: histograms("delivery_duration_seconds", "How long an attempt to deliver an alert took.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "kind"),
		requests: counters("http_requests_total", "HTTP requests that were answered.", "route", "method", "code"),
		request: histograms("http_request_duration_seconds", "How long the answer to an HTTP request took.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "route"),
		limited: counter("http_requests_rate_limited_total", "API requests that were refused because of the rate limit."),
		build: prometheus.NewGauge(prometheus.GaugeOpts{Name: "rollcall_build_info",
			Help: "1, with the version of Rollcall.", ConstLabels: prometheus.Labels{"version": version()}}),
		queue: prometheus.NewDesc("rollcall_ping_queue_length", "Pings that wait to be written.", nil, nil),
		pending: prometheus.NewDesc("rollcall_deliveries_pending",
			"Alerts that were neither delivered nor given up, counted up to 100000.", nil, nil),
		oldest: prometheus.NewDesc("rollcall_delivery_oldest_due_age_seconds",
			"For how long the alert that is due for longest has been due, 0 when none is.", nil, nil),
	}
	for _, kind := range []pings.Kind{pings.Success, pings.Start, pings.Fail, pings.Log, pings.Ignored} {
		m.pings.WithLabelValues(string(kind)) // so that their rates begin at 0
	}
	m.build.Set(1)
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "rollcall_" + name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rollcall_" + name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "rollcall_" + name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	o := prometheus.HistogramOpts{Name: "rollcall_" + name, Help: help, Buckets: buckets}
	return prometheus.NewHistogramVec(o, labels)
}

// Watch has the gauges of the writer and of the outbox read from a monitor. Without it they are absent. Call it once.
func (m *Metrics) Watch(source Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source = source
}

// PingsWritten is for [monitor.Observer], as are the next four.
func (m *Metrics) PingsWritten(kinds map[pings.Kind]int, took time.Duration) {
	size := 0
	for kind, n := range kinds {
		size += n
		m.pings.WithLabelValues(string(kind)).Add(float64(n))
	}
	m.batchSize.Observe(float64(size))
	m.commit.Observe(took.Seconds())
}

// PingsFailed counts a batch that was not written.
func (m *Metrics) PingsFailed(size int) {
	m.batchesFailed.Inc()
	m.pingsFailed.Add(float64(size))
}

// PingRefused counts a ping that the queue did not take.
func (m *Metrics) PingRefused() { m.pingsRefused.Inc() }

// Swept notes a look for overdue checks.
func (m *Metrics) Swept(at time.Time, lags []time.Duration) {
	m.lastSweep.Set(float64(at.UnixMicro()) / 1e6)
	for _, lag := range lags {
		m.lag.Observe(lag.Seconds())
	}
}

// Attempted counts an attempt to deliver an alert.
func (m *Metrics) Attempted(kind channels.Kind, outcome monitor.Outcome, took time.Duration) {
	m.attempts.WithLabelValues(string(kind), string(outcome)).Inc()
	m.delivery.WithLabelValues(string(kind)).Observe(took.Seconds())
}

// Answered counts an HTTP request. It is for the observer of package server.
func (m *Metrics) Answered(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.request.WithLabelValues(route).Observe(took.Seconds())
	if status == http.StatusTooManyRequests {
		m.limited.Inc()
	}
}

func (m *Metrics) parts() []prometheus.Collector {
	return []prometheus.Collector{m.pings, m.pingsFailed, m.pingsRefused, m.batchesFailed, m.batchSize, m.commit, m.lag,
		m.lastSweep, m.attempts, m.delivery, m.requests, m.request, m.limited, m.build}
}

// Describe is for [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, part := range m.parts() {
		part.Describe(to)
	}
	to <- m.queue
	to <- m.pending
	to <- m.oldest
}

// Collect is for [prometheus.Collector]. When the database does not answer within 2 seconds, the metrics of the outbox
// are left out.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, part := range m.parts() {
		part.Collect(to)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.source == nil {
		return
	}
	to <- prometheus.MustNewConstMetric(m.queue, prometheus.GaugeValue, float64(m.source.Queued()))
	m.refresh()
	if !m.known {
		return
	}
	to <- prometheus.MustNewConstMetric(m.pending, prometheus.GaugeValue, float64(m.backlog.Pending))
	age := 0.0
	if !m.backlog.OldestDue.IsZero() {
		age = max(0, m.source.Now().Sub(m.backlog.OldestDue).Seconds())
	}
	to <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, age)
}

// refresh reads the outbox unless that was done just before, with success or not.
func (m *Metrics) refresh() {
	if !m.read.IsZero() && time.Since(m.read) < backlogEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
	defer cancel()
	backlog, err := m.source.Backlog(ctx)
	m.backlog, m.known, m.read = backlog, err == nil, time.Now()
}

// Handler serves the metrics with those of the Go runtime and of the process, from a registry of its own. It needs no
// key, so it is for an address that only Prometheus reaches.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	registry.MustRegister(m, collectors.NewGoCollector(), process)
	options := promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError}
	return promhttp.HandlerFor(registry, options)
}

// version returns the version of this module in the program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	const module = "github.com/rollcall-dev/rollcall"
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return strings.ToValidUTF8(m.Version, "")
		}
	}
	return "unknown"
}
