package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/metrics"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// scrape reads metrics over HTTP as Prometheus does. It returns Rollcall's samples by name and labels, and the count of
// each histogram.
func scrape(t *testing.T, handler http.Handler) map[string]float64 {
	t.Helper()
	web := httptest.NewServer(handler)
	defer web.Close()
	answer, err := http.Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v\n%s", answer.StatusCode, err, body)
	}
	problems, err := promlint.New(strings.NewReader(string(body))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	samples := map[string]float64{}
	for name, family := range families {
		if strings.HasPrefix(name, "rollcall_") {
			for _, m := range family.Metric {
				samples[name+labels(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return samples
}

func labels(m *dto.Metric) string {
	var list []string
	for _, label := range m.Label {
		list = append(list, label.GetName()+"="+label.GetValue())
	}
	slices.Sort(list)
	return "{" + strings.Join(list, ",") + "}"
}

// idle returns the metrics of a server to which nothing has happened.
func idle() map[string]float64 {
	samples := map[string]float64{"rollcall_build_info{version=unknown}": 1}
	for _, kind := range []string{"success", "start", "fail", "log", "ign"} {
		samples["rollcall_pings_total{kind="+kind+"}"] = 0
	}
	for _, name := range []string{
		"pings_failed_total", "pings_refused_total", "ping_batches_failed_total", "ping_batch_size", "ping_commit_duration_seconds",
		"pings_spooled_total", "pings_held_total", "overdue_lag_seconds", "sweep_last_success_timestamp_seconds", "http_requests_rate_limited_total",
	} {
		samples["rollcall_"+name+"{}"] = 0
	}
	for _, code := range []string{"550", "552"} {
		samples["rollcall_mail_refused_total{code="+code+"}"] = 0
	}
	for _, result := range []string{"recorded", "dropped"} {
		samples["rollcall_pings_replayed_total{result="+result+"}"] = 0
	}
	return samples
}

func is(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	for _, samples := range []map[string]float64{got, want} {
		maps.DeleteFunc(samples, func(name string, _ float64) bool { return strings.HasPrefix(name, "rollcall_build_info") })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestMetrics(t *testing.T) {
	dbtest.EachAtRelease(t, func(t *testing.T, db dbtest.DB) {
		m := metrics.New()
		is(t, "before a monitor has them", scrape(t, m.Handler()), idle())

		clock := dbtest.NewClock(noon)
		logger := slog.New(slog.DiscardHandler)
		mon, err := monitor.New(db.Open(t), &monitor.Config{Observer: m.Observer(), Now: clock.Now, Logger: logger, Channels: standard.Kinds(), DeliveredElsewhere: true})
		if err != nil {
			t.Fatal(err)
		}
		signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		srv, err := server.New(mon, &server.Config{Answered: m.Answered, Signer: signer, Logger: logger, RateLimit: 1})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(srv)
		project, keys, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Project(project.ID).CreateChannel(t.Context(), channels.Channel{Kind: "email", Name: "ops", Settings: map[string]string{"to": "ops@example.org"}}); err != nil {
			t.Fatal(err)
		}
		c, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{
			Timeout: new(time.Minute), Grace: new(time.Minute), Channels: new("*"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{
			"/ping/" + c.ID.String(), "/ping/" + c.ID.String() + "/start", "/ping/" + uuid.NewString(),
			"/api/v3/checks/", "/api/v3/checks/", "/readyz", "/secret",
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Api-Key", keys.ReadOnly)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		web.Close() // afterwards, every answer has been observed
		clock.Advance(time.Hour)
		if err := mon.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		swept := clock.Now()
		clock.Advance(10 * time.Second)
		m.Observer().PingRefused()
		m.MailRefused(550)
		m.Observer().PingsSpooled(5)
		m.Observer().PingsReplayed(2, 1)
		m.Observer().SpoolHeld()
		m.Observer().PingsFailed(3)
		m.Observer().Attempted("email", checks.DeliveryPending, time.Second)

		want := idle()
		maps.Copy(want, map[string]float64{
			"rollcall_pings_total{kind=success}": 1, "rollcall_pings_total{kind=start}": 1,
			"rollcall_ping_batch_size{}": 3, "rollcall_ping_commit_duration_seconds{}": 3, // one batch had no check
			"rollcall_overdue_lag_seconds{}": 1, "rollcall_sweep_last_success_timestamp_seconds{}": float64(swept.Unix()),
			"rollcall_pings_spooled_total{}": 5, "rollcall_pings_replayed_total{result=recorded}": 2, "rollcall_pings_replayed_total{result=dropped}": 1,
			"rollcall_pings_held_total{}":           1,
			"rollcall_mail_refused_total{code=550}": 1,
			"rollcall_pings_refused_total{}":        1, "rollcall_pings_failed_total{}": 3, "rollcall_ping_batches_failed_total{}": 1,
			"rollcall_delivery_attempts_total{kind=email,outcome=retry}": 1, "rollcall_delivery_duration_seconds{kind=email}": 1,
			"rollcall_http_requests_total{code=200,method=GET,route=/ping}":          2,
			"rollcall_http_requests_total{code=404,method=GET,route=/ping}":          1,
			"rollcall_http_requests_total{code=200,method=GET,route=/api/v3/checks}": 1,
			"rollcall_http_requests_total{code=429,method=GET,route=/api/v3/checks}": 1,
			"rollcall_http_requests_total{code=200,method=GET,route=/readyz}":        1,
			"rollcall_http_requests_total{code=404,method=GET,route=other}":          1,
			"rollcall_http_request_duration_seconds{route=/ping}":                    3,
			"rollcall_http_request_duration_seconds{route=/api/v3/checks}":           2,
			"rollcall_http_request_duration_seconds{route=/readyz}":                  1,
			"rollcall_http_request_duration_seconds{route=other}":                    1,
			"rollcall_http_requests_rate_limited_total{}":                            1,
			"rollcall_ping_queue_length{}":                                           0,
			"rollcall_deliveries_pending{}":                                          1,
			"rollcall_delivery_oldest_due_age_seconds{}":                             10,
			"rollcall_delivery_healthy_oldest_due_age_seconds{}":                     0,
		})
		got := scrape(t, m.Handler())
		connections(t, got, db.Name == "sqlite")
		is(t, "all", got, want)
	})
}

// connections takes the metrics about connections out of a scrape. PostgreSQL says how much memory one takes, because the user is a superuser.
func connections(t *testing.T, got map[string]float64, sqlite bool) {
	t.Helper()
	most := map[bool]float64{true: 8, false: 20}[sqlite]
	busy, idle := got["rollcall_database_connections{state=in_use}"], got["rollcall_database_connections{state=idle}"]
	if busy+idle < 1 || busy+idle > most || got["rollcall_database_connections_max{}"] != most {
		t.Errorf("%v connections in use and %v idle of %v, want some of %v", busy, idle, got["rollcall_database_connections_max{}"], most)
	}
	if _, waited := got["rollcall_database_connection_wait_seconds_total{}"]; !waited {
		t.Error("no time that work has waited for a connection")
	}
	if bytes, known := got["rollcall_database_session_bytes{}"]; known == sqlite || known && (bytes < 100_000 || bytes > 100_000_000) {
		t.Errorf("a session takes %v bytes, known: %t", bytes, known)
	}
	maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.HasPrefix(name, "rollcall_database_") })
}

// source counts how often its outbox is read.
type source struct {
	reads int
	err   error
}

func (s *source) Queued() int { return 7 }

func (s *source) OldestHealthy() time.Time { return noon.Add(-3 * time.Second) }

func (s *source) Spooled() (monitor.SpoolStats, bool) {
	return monitor.SpoolStats{Pings: 3, Bytes: 400, Stuck: 2, Oldest: noon.Add(-time.Minute)}, s.err != nil
}

func (s *source) Backlog(ctx context.Context) (monitor.Backlog, error) {
	s.reads++
	if _, bounded := ctx.Deadline(); !bounded {
		return monitor.Backlog{}, errors.New("without a time limit")
	}
	return monitor.Backlog{Pending: 2}, s.err
}

func (s *source) is(t *testing.T, m *metrics.Metrics, want map[string]float64) {
	t.Helper()
	for range 5 {
		got := scrape(t, m.Handler())
		maps.DeleteFunc(got, func(name string, _ float64) bool {
			return !strings.HasPrefix(name, "rollcall_deliver") && !strings.HasPrefix(name, "rollcall_ping_queue") && !strings.HasPrefix(name, "rollcall_spool")
		})
		is(t, "gauges", got, want)
	}
	if s.reads != 1 {
		t.Errorf("the outbox was read %d times, want once", s.reads)
	}
}

// The database is read at most every ten seconds, also while it fails, however often Prometheus scrapes.
func TestScrapesAreCheap(t *testing.T) {
	m := metrics.New()
	well := &source{}
	metrics.BindSource(m, well, func() time.Time { return noon })
	well.is(t, m, map[string]float64{
		"rollcall_ping_queue_length{}": 7, "rollcall_deliveries_pending{}": 2, "rollcall_delivery_oldest_due_age_seconds{}": 0,
		"rollcall_delivery_healthy_oldest_due_age_seconds{}": 3,
	})
	m = metrics.New()
	broken := &source{err: errors.New("the database is away")}
	metrics.BindSource(m, broken, func() time.Time { return noon })
	broken.is(t, m, map[string]float64{
		"rollcall_ping_queue_length{}": 7, "rollcall_delivery_healthy_oldest_due_age_seconds{}": 3, "rollcall_spool_pings{}": 3, "rollcall_spool_bytes{}": 400, "rollcall_spool_oldest_age_seconds{}": 60, "rollcall_spool_stuck_pings{}": 2,
	})
}

// The program registers the metrics in its own registry.
func ExampleMetrics() {
	registry := prometheus.NewRegistry()
	m := metrics.New()
	registry.MustRegister(m)
	m.Observer().PingsWritten(map[pings.Kind]int{pings.Success: 2}, 3*time.Millisecond)

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if family.GetName() == "rollcall_ping_batch_size" {
			fmt.Println(family.GetName(), family.GetMetric()[0].GetHistogram().GetSampleSum())
		}
	}
	// Output: rollcall_ping_batch_size 2
}
