// Package metrics exports the state of a Rollcall server to Prometheus. [Metrics] observes a [monitor.Monitor] and the
// handlers of package server, and is a collector for the program's registry:
//
//	m := metrics.New()
//	mon, err := monitor.New(store, &monitor.Config{Observer: m.Observer()})
//	srv, err := server.New(mon, &server.Config{Answered: m.Answered})
//	prometheus.MustRegister(m)
//
// A program without a registry serves [Metrics.Handler], which adds the metrics of the Go runtime and the process.
//
// To get the metrics of several processes on one database, add them up, except rollcall_deliveries_pending and
// rollcall_delivery_oldest_due_age_seconds: every process reads these two from the database, at most every ten seconds.
// Of rollcall_delivery_healthy_oldest_due_age_seconds the maximum counts. Clients cannot choose the value of any label.
//
// Those about connections are of each process, too.
//
// The server exports the checks of a project at /api/v3/metrics/.
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
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// backlogEvery is the least time between two reads of the outbox.
	backlogEvery = 10 * time.Second
	// backlogTimeout bounds a read of the outbox.
	backlogTimeout = 2 * time.Second
	// maxScrapes bounds the concurrent requests to the Handler.
	maxScrapes = 4
)

// source is what [Metrics] reads during a scrape. *[monitor.Monitor] implements it.
type source interface {
	Queued() int
	OldestHealthy() time.Time
	Backlog(ctx context.Context) (monitor.Backlog, error)
	Spooled() (stats monitor.SpoolStats, ok bool)
}

var _ source = (*monitor.Monitor)(nil)

// pool is what [Metrics] reads of the connections to the database, if the source has any.
type pool interface {
	Connections(ctx context.Context) monitor.Connections
}

var _ pool = (*monitor.Monitor)(nil)

// Metrics is a collector of the events of a [monitor.Observer], of answers to requests and of refused mail.
// It is safe for concurrent use.
type Metrics struct {
	events

	build prometheus.Gauge

	queue, pending, oldest, healthy  *prometheus.Desc
	spoolPings, spoolBytes, spoolAge *prometheus.Desc
	spoolStuck                       *prometheus.Desc
	conns, connsMax, connWait        *prometheus.Desc
	session                          *prometheus.Desc

	mu      sync.Mutex
	source  source // nil before Bind
	now     func() time.Time
	backlog monitor.Backlog
	known   bool // whether the last read of the backlog succeeded
	pool    monitor.Connections
	read    time.Time // time of the last read
}

// events counts the events of an observer.
type events struct {
	pings         *prometheus.CounterVec // by kind
	pingsFailed   prometheus.Counter
	pingsRefused  prometheus.Counter
	pingsSpooled  prometheus.Counter
	pingsReplayed *prometheus.CounterVec // by result
	spoolHeld     prometheus.Counter
	batchesFailed prometheus.Counter
	batchSize     prometheus.Histogram
	commit        prometheus.Histogram

	lag       prometheus.Histogram
	lastSweep prometheus.Gauge

	attempts *prometheus.CounterVec   // by kind and outcome
	delivery *prometheus.HistogramVec // by kind

	mailRefused *prometheus.CounterVec // by code

	requests *prometheus.CounterVec   // by route, method and code
	request  *prometheus.HistogramVec // by route
	limited  prometheus.Counter
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns metrics whose values are zero.
func New() *Metrics {
	m := &Metrics{events: events{
		pings:         counters("pings_total", "Pings recorded, by what their checks made of them.", "kind"),
		pingsFailed:   counter("pings_failed_total", "Pings that could not be written to the database."),
		pingsRefused:  counter("pings_refused_total", "Pings refused because the queue was full."),
		pingsSpooled:  counter("pings_spooled_total", "Pings written to the spool, because the database was unavailable."),
		pingsReplayed: counters("pings_replayed_total", "Pings taken out of the spool: recorded, or dropped because they have no check or cannot be read.", "result"),
		spoolHeld:     counter("pings_held_total", "Pings at the head of the spool that waited for other servers for longer than --spool-wait."),
		batchesFailed: counter("ping_batches_failed_total", "Transactions of pings that failed."),
		batchSize: histogram("ping_batch_size", "Pings recorded in one transaction.",
			prometheus.ExponentialBuckets(1, 2, 10)),
		commit: histogram("ping_commit_duration_seconds", "Duration of a transaction of pings until it was durable.",
			[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}),
		lag: histogram("overdue_lag_seconds", "Time from the deadline of a check until the watcher took it down.",
			[]float64{.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200}),
		lastSweep: prometheus.NewGauge(prometheus.GaugeOpts{Name: "rollcall_sweep_last_success_timestamp_seconds",
			Help: "Time of the last successful sweep over overdue checks."}),
		attempts: counters("delivery_attempts_total", "Attempts to deliver an alert, by kind of integration and outcome.",
			"kind", "outcome"),
		delivery: histograms("delivery_duration_seconds", "Duration of an attempt to deliver an alert.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "kind"),
		mailRefused: counters("mail_refused_total", "Mail refused for good: recipients without a check, and messages that are too large.", "code"),
		requests:    counters("http_requests_total", "HTTP requests answered.", "route", "method", "code"),
		request: histograms("http_request_duration_seconds", "Duration of an HTTP request until its answer.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "route"),
		limited: counter("http_requests_rate_limited_total", "HTTP requests refused because of a rate limit."),
	},
		build: prometheus.NewGauge(prometheus.GaugeOpts{Name: "rollcall_build_info",
			Help: "Always 1; the label has the version of Rollcall.", ConstLabels: prometheus.Labels{"version": version()}}),
		queue: prometheus.NewDesc("rollcall_ping_queue_length", "Pings in the queue for writing.", nil, nil),
		pending: prometheus.NewDesc("rollcall_deliveries_pending",
			"Alerts neither sent nor given up, counted up to 100000.", nil, nil),
		oldest: prometheus.NewDesc("rollcall_delivery_oldest_due_age_seconds",
			"Time since the oldest pending alert became due, 0 if none is due.", nil, nil),
		healthy: prometheus.NewDesc("rollcall_delivery_healthy_oldest_due_age_seconds",
			"Time since the oldest alert became due that waits although its integration answers, 0 if none does.", nil, nil),
		spoolPings: prometheus.NewDesc("rollcall_spool_pings", "Pings in the spool.", nil, nil),
		spoolBytes: prometheus.NewDesc("rollcall_spool_bytes", "Bytes in the spool.", nil, nil),
		spoolAge: prometheus.NewDesc("rollcall_spool_oldest_age_seconds",
			"Time since the oldest ping in the spool was received, 0 if the spool is empty.", nil, nil),
		spoolStuck: prometheus.NewDesc("rollcall_spool_stuck_pings",
			"Pings out of the spool that cannot be recorded, although others can, and are tried again.", nil, nil),
		conns: prometheus.NewDesc("rollcall_database_connections", "Open connections to the database.", []string{"state"}, nil),
		connsMax: prometheus.NewDesc("rollcall_database_connections_max",
			"Connections to the database that may be open at once, 0 for no limit.", nil, nil),
		connWait: prometheus.NewDesc("rollcall_database_connection_wait_seconds_total",
			"Time for which requests and work waited for a free connection to the database.", nil, nil),
		session: prometheus.NewDesc("rollcall_database_session_bytes",
			"Memory of the session of one connection in PostgreSQL, without what sessions share.", nil, nil),
	}
	for _, kind := range []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log, pings.Ignored} {
		m.pings.WithLabelValues(string(kind)) // so that their rates start at 0
	}
	for _, result := range []string{"recorded", "dropped"} {
		m.pingsReplayed.WithLabelValues(result)
	}
	for _, code := range []int{550, 552} {
		m.mailRefused.WithLabelValues(strconv.Itoa(code))
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

// Observer returns what counts the events of a monitor. It also has the gauges show the queue and the outbox of that monitor.
// Without a monitor these gauges are absent.
func (m *Metrics) Observer() monitor.Observer {
	return monitor.Observer{
		Bind:         func(mon *monitor.Monitor) { m.bind(mon, mon.Now) },
		PingsWritten: m.pingsWritten, PingsFailed: m.pingsNotWritten,
		PingsSpooled: func(size int) { m.pingsSpooled.Add(float64(size)) }, PingsReplayed: m.pingsTaken,
		SpoolHeld: m.spoolHeld.Inc, PingRefused: m.pingsRefused.Inc, Swept: m.swept, Attempted: m.attempted,
	}
}

func (m *Metrics) bind(from source, now func() time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source, m.now = from, now
}

// pingsWritten counts a batch of pings.
func (e *events) pingsWritten(kinds map[pings.Kind]int, took time.Duration) {
	size := 0
	for kind, n := range kinds {
		size += n
		e.pings.WithLabelValues(string(kind)).Add(float64(n))
	}
	e.batchSize.Observe(float64(size))
	e.commit.Observe(took.Seconds())
}

// pingsNotWritten counts a batch that was not written.
func (e *events) pingsNotWritten(size int) {
	e.batchesFailed.Inc()
	e.pingsFailed.Add(float64(size))
}

// pingsTaken counts pings that came out of the spool.
func (e *events) pingsTaken(recorded, dropped int) {
	e.pingsReplayed.WithLabelValues("recorded").Add(float64(recorded))
	e.pingsReplayed.WithLabelValues("dropped").Add(float64(dropped))
}

// swept records a sweep over overdue checks.
func (e *events) swept(at time.Time, lags []time.Duration) {
	e.lastSweep.Set(float64(at.UnixMicro()) / 1e6)
	for _, lag := range lags {
		e.lag.Observe(lag.Seconds())
	}
}

// attempted counts an attempt to deliver an alert.
func (e *events) attempted(kind channels.Kind, state checks.DeliveryState, took time.Duration) {
	outcome := string(state)
	if state == checks.DeliveryPending {
		outcome = "retry"
	}
	e.attempts.WithLabelValues(string(kind), outcome).Inc()
	e.delivery.WithLabelValues(string(kind)).Observe(took.Seconds())
}

// MailRefused counts refused mail: give it to smtpd.Config.Refused.
func (e *events) MailRefused(code int) { e.mailRefused.WithLabelValues(strconv.Itoa(code)).Inc() }

// Answered counts an HTTP request: give it to server.Config.Answered.
func (e *events) Answered(route, method string, status int, took time.Duration) {
	e.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	e.request.WithLabelValues(route).Observe(took.Seconds())
	if status == http.StatusTooManyRequests {
		e.limited.Inc()
	}
}

func (m *Metrics) parts() []prometheus.Collector {
	return []prometheus.Collector{m.pings, m.pingsFailed, m.pingsRefused, m.pingsSpooled, m.pingsReplayed, m.spoolHeld, m.batchesFailed, m.batchSize, m.commit, m.lag,
		m.lastSweep, m.attempts, m.delivery, m.mailRefused, m.requests, m.request, m.limited, m.build}
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, part := range m.parts() {
		part.Describe(to)
	}
	to <- m.queue
	to <- m.pending
	to <- m.oldest
	to <- m.healthy
	to <- m.spoolPings
	to <- m.spoolBytes
	to <- m.spoolAge
	to <- m.spoolStuck
	to <- m.conns
	to <- m.connsMax
	to <- m.connWait
	to <- m.session
}

// Collect implements [prometheus.Collector]. It leaves out the metrics of the outbox if the database does not answer
// within 2 seconds, and those of the spool if there is none.
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
	to <- prometheus.MustNewConstMetric(m.healthy, prometheus.GaugeValue, m.age(m.source.OldestHealthy()))
	m.collectSpool(to)
	m.refresh()
	m.collectPool(to)
	if !m.known {
		return
	}
	to <- prometheus.MustNewConstMetric(m.pending, prometheus.GaugeValue, float64(m.backlog.Pending))
	to <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, m.age(m.backlog.OldestDue))
}

// age returns the seconds since an instant, or 0 for the zero time.
func (m *Metrics) age(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(0, m.now().Sub(at).Seconds())
}

func (m *Metrics) collectSpool(to chan<- prometheus.Metric) {
	stats, ok := m.source.Spooled()
	if !ok {
		return
	}
	to <- prometheus.MustNewConstMetric(m.spoolPings, prometheus.GaugeValue, float64(stats.Pings))
	to <- prometheus.MustNewConstMetric(m.spoolBytes, prometheus.GaugeValue, float64(stats.Bytes))
	to <- prometheus.MustNewConstMetric(m.spoolAge, prometheus.GaugeValue, m.age(stats.Oldest))
	to <- prometheus.MustNewConstMetric(m.spoolStuck, prometheus.GaugeValue, float64(stats.Stuck))
}

// collectPool collects the connections to the database. The memory of a session is left out where the database does not say.
func (m *Metrics) collectPool(to chan<- prometheus.Metric) {
	if _, ok := m.source.(pool); !ok {
		return
	}
	to <- prometheus.MustNewConstMetric(m.conns, prometheus.GaugeValue, float64(m.pool.InUse), "in_use")
	to <- prometheus.MustNewConstMetric(m.conns, prometheus.GaugeValue, float64(m.pool.Idle), "idle")
	to <- prometheus.MustNewConstMetric(m.connsMax, prometheus.GaugeValue, float64(m.pool.Max))
	to <- prometheus.MustNewConstMetric(m.connWait, prometheus.CounterValue, m.pool.Waited.Seconds())
	if m.pool.Session > 0 {
		to <- prometheus.MustNewConstMetric(m.session, prometheus.GaugeValue, float64(m.pool.Session))
	}
}

// refresh reads the outbox and the state of the connections, unless the last attempt was less than backlogEvery ago.
func (m *Metrics) refresh() {
	if !m.read.IsZero() && time.Since(m.read) < backlogEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
	defer cancel()
	backlog, err := m.source.Backlog(ctx)
	m.backlog, m.known = backlog, err == nil
	if p, ok := m.source.(pool); ok {
		m.pool = p.Connections(ctx)
	}
	m.read = time.Now()
}

// Handler serves the metrics together with those of the Go runtime and the process, from its own registry. It asks for no
// key, so serve it only where Prometheus alone can reach it.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	registry.MustRegister(m, collectors.NewGoCollector(), process)
	options := promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError}
	return promhttp.HandlerFor(registry, options)
}

// version returns the version of this module in the running program.
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
