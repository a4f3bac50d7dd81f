package server_test

import (
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
)

const metricsPath = "/api/v3/metrics/"

// parseMetrics parses the text format of Prometheus. It returns the samples by name and sorted labels.
func parseMetrics(s *site, text string) map[string]float64 {
	s.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		s.Fatalf("not the text format of Prometheus: %v\n%s", err, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		s.Errorf("promlint found %v, error %v", problems, err)
	}
	samples := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, label := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			slices.Sort(labels)
			key := name + "{" + strings.Join(labels, ",") + "}"
			if _, twice := samples[key]; twice {
				s.Errorf("two samples %s", key)
			}
			samples[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return samples
}

// metrics reads the metrics of the project with the read-only key.
func (s *site) metrics() map[string]float64 {
	s.Helper()
	r := s.send("GET", metricsPath, nil, "X-Api-Key", s.keys.ReadOnly).is(200)
	s.equal("Content-Type", r.header.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
	for _, secret := range []string{"uuid=", s.keys.ReadOnly, s.project.BadgeKey, s.project.PingKey} {
		if strings.Contains(r.body, secret) {
			s.Errorf("the metrics reveal %q", secret)
		}
	}
	return parseMetrics(s, r.body)
}

func TestCheckMetrics(t *testing.T) {
	each(t, nil, func(s *site) {
		totals := map[string]float64{}
		for _, status := range []string{"new", "up", "grace", "down", "paused"} {
			totals[fmt.Sprintf("rollcall_checks{status=%q}", status)] = 0
		}
		for _, state := range []string{"notified", "partial", "failing", "skipped", "undeliverable", "empty"} {
			totals[fmt.Sprintf("rollcall_integrations{state=%q}", state)] = 0
		}
		totals[`rollcall_windows{kind="maintenance"}`], totals[`rollcall_windows{kind="snooze"}`] = 0, 0
		s.equal("metrics of an empty project", s.metrics(), totals)

		// A check in each state, with a name that needs escaping.
		job := s.create(object{"name": "Bäckup \"α\"\\\n😀\r\t{}", "slug": "job", "tags": "prod db,x", "timeout": 60, "grace": 60})
		s.ping(job, "/start")
		s.clock.Advance(1500 * time.Millisecond)
		s.ping(job, "")
		want := maps.Clone(totals)
		labels := func(extra string) string {
			name := fmt.Sprintf("name=%q,slug=\"job\"", "Bäckup \"α\"\\\n😀\r\t{}")
			return "{" + name + extra + fmt.Sprintf(",tags=\"prod db,x\",unique_key=%q}", checks.UniqueKey(mustUUID(s, job)))
		}
		set := func(status string, next bool) {
			for _, each := range []string{"new", "up", "grace", "down", "paused"} {
				value := 0.0
				if each == status {
					value = 1
				}
				want["rollcall_check_status"+labels(fmt.Sprintf(",status=%q", each))] = value
				want[fmt.Sprintf("rollcall_checks{status=%q}", each)] = value
			}
			want["rollcall_check_up"+labels("")] = 1
			if status == "down" {
				want["rollcall_check_up"+labels("")] = 0
			}
			due := "rollcall_check_next_ping_timestamp_seconds" + labels("")
			delete(want, due)
			if next {
				want[due] = float64(noon.UnixMicro())/1e6 + 61.5
			}
		}
		want["rollcall_check_in_maintenance"+labels("")], want["rollcall_check_snoozed"+labels("")] = 0, 0
		want["rollcall_check_last_ping_timestamp_seconds"+labels("")] = float64(noon.UnixMicro())/1e6 + 1.5
		want["rollcall_check_pings_total"+labels("")] = 2
		want["rollcall_check_last_duration_seconds"+labels("")] = 1.5
		set("up", true)
		s.equal("metrics of a check that is up", s.metrics(), want)
		s.clock.Advance(time.Minute)
		set("grace", true)
		s.equal("metrics of a check in grace", s.metrics(), want)
		s.clock.Advance(time.Minute)
		set("down", false)
		s.equal("metrics of a check that is down", s.metrics(), want)
		s.api("POST", path(job)+"/pause", nil).is(200)
		set("paused", false)
		s.equal("metrics of a check that is paused", s.metrics(), want)
		s.api("DELETE", path(job), nil).is(200)
		s.equal("metrics without the check", s.metrics(), totals)
	})
}

// TestDownInMaintenance: a window changes neither rollcall_check_up nor a badge, and metrics say that there is one.
func TestDownInMaintenance(t *testing.T) {
	each(t, nil, func(s *site) {
		job, other := s.create(object{"tags": "db"}), s.create(object{"name": "other"})
		sample := func(check object, name string) float64 {
			s.Helper()
			for key, value := range s.metrics() {
				if strings.HasPrefix(key, name+"{") && strings.Contains(key, checks.UniqueKey(mustUUID(s, check))) {
					return value
				}
			}
			s.Fatalf("no sample %s", name)
			return 0
		}
		s.ping(job, "/fail")
		s.ping(other, "/fail")
		window := s.api("POST", windows, object{"kind": "maintenance", "tags": "db", "duration": 3600}).object(201)
		s.api("POST", windows, object{"kind": "maintenance", "start": "2026-04-01T00:00:00Z", "duration": 3600}).is(201)
		s.api("POST", windows, object{"kind": "snooze", "checks": []string{other["uuid"].(string)}, "duration": 3600}).is(201)
		s.equal("up", sample(job, "rollcall_check_up"), 0.0)
		s.equal("in maintenance", sample(job, "rollcall_check_in_maintenance"), 1.0)
		s.equal("not snoozed", sample(job, "rollcall_check_snoozed"), 0.0)
		s.equal("another in maintenance", sample(other, "rollcall_check_in_maintenance"), 0.0)
		s.equal("another snoozed", sample(other, "rollcall_check_snoozed"), 1.0)
		s.equal("windows in effect", s.metrics()[`rollcall_windows{kind="maintenance"}`], 1.0)
		s.equal("status", s.get(job)["status"], any("down"))
		if body := s.send("GET", job["badge_url"].(string), nil).is(200).body; !strings.Contains(body, ">down<") {
			s.Error(body)
		}
		s.api("DELETE", windows+window["id"].(string), nil).is(200)
		s.equal("after it", sample(job, "rollcall_check_in_maintenance"), 0.0)
	})
}

func mustUUID(s *site, check object) uuid.UUID {
	s.Helper()
	id, err := uuid.Parse(check["uuid"].(string))
	s.must(err)
	return id
}

// TestCheckMetricsKeys: which keys may read metrics, and how they are sent.
func TestCheckMetricsKeys(t *testing.T) {
	each(t, &server.Config{RateLimit: 8}, func(s *site) {
		s.create(nil)
		_, other := s.otherProject("other")
		for _, header := range [][]string{
			{"X-Api-Key", s.keys.ReadOnly}, {"X-Api-Key", s.keys.ReadWrite},
			{"Authorization", "Bearer " + s.keys.ReadOnly}, {"Authorization", "bearer  " + s.keys.ReadWrite},
			{"Authorization", "Bearer x", "X-Api-Key", s.keys.ReadOnly},
		} {
			if r := s.send("GET", metricsPath, nil, header...).is(200); !strings.Contains(r.body, "\nrollcall_check_up{") {
				s.Errorf("with %q the metrics lack the check: %s", header, r.body)
			}
		}
		if r := s.send("GET", metricsPath, nil, "Authorization", "Bearer "+other.ReadOnly).is(200); strings.Contains(r.body, "\nrollcall_check_up{") {
			s.Errorf("metrics of another project have the check: %s", r.body)
		}
		for _, header := range [][]string{
			{}, {"Authorization", "Bearer"}, {"Authorization", s.keys.ReadOnly}, {"Authorization", "Basic " + s.keys.ReadOnly},
			{"X-Api-Key", "", "Authorization", "Bearer " + s.keys.ReadOnly},
		} {
			s.send("GET", metricsPath, nil, header...).refused(401, "missing api key")
		}
		s.send("GET", metricsPath+"?api_key="+s.keys.ReadOnly, nil).refused(401, "missing api key")
		s.send("GET", metricsPath, nil, "Authorization", "Bearer "+strings.Repeat("x", 32)).refused(401, "wrong api key")
		// No other endpoint takes a bearer token.
		s.send("GET", "/api/v3/checks/", nil, "Authorization", "Bearer "+s.keys.ReadOnly).refused(401, "missing api key")
		// It counts against the rate limit.
		for range 5 {
			s.send("GET", metricsPath, nil, "X-Api-Key", s.keys.ReadOnly).is(200)
		}
		s.send("GET", metricsPath, nil, "X-Api-Key", s.keys.ReadOnly).is(429)
	})
}

// TestCheckMetricsOfTwins: checks whose UUIDs start alike share a unique_key. Prometheus drops a scrape with equal samples.
func TestCheckMetricsOfTwins(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, id := range []string{"11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"} {
			if _, err := s.mon.Project(s.project.ID).Create(s.Context(), checks.Spec{ID: uuid.MustParse(id)}); err != nil {
				s.Fatal(err)
			}
		}
		s.metrics()
	})
}

// TestCheckMetricsOfMany: many checks, compressed and not.
func TestCheckMetricsOfMany(t *testing.T) {
	each(t, nil, func(s *site) {
		const many = 300
		for i := range many {
			if _, err := s.mon.Project(s.project.ID).Create(s.Context(), checks.Spec{Name: new(fmt.Sprint("job ", i))}); err != nil {
				s.Fatal(err)
			}
		}
		s.equal("new checks", s.metrics()[`rollcall_checks{status="new"}`], float64(many))
		for accept, packed := range map[string]bool{
			"gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.00": false, "identity": false, "": false,
		} {
			request, err := http.NewRequestWithContext(s.Context(), "GET", s.url+metricsPath, nil)
			s.must(err)
			request.Header.Set("X-Api-Key", s.keys.ReadOnly)
			request.Header.Set("Accept-Encoding", accept)
			response, err := http.DefaultClient.Do(request)
			s.must(err)
			defer response.Body.Close()
			body := response.Body
			if got := response.Header.Get("Content-Encoding") == "gzip"; got != packed {
				s.Errorf("Accept-Encoding %q: compressed %v, want %v", accept, got, packed)
			} else if packed {
				if body, err = gzip.NewReader(body); err != nil {
					s.Fatal(err)
				}
			}
			families, err := new(expfmt.NewTextParser(model.LegacyValidation)).TextToMetricFamilies(body)
			if err != nil || len(families["rollcall_check_up"].GetMetric()) != many {
				s.Errorf("Accept-Encoding %q: %d samples, want %d; error %v", accept, len(families["rollcall_check_up"].GetMetric()), many, err)
			}
		}
	})
}

// TestCheckMetricsByTag: a project of too many checks has metrics by tag, as if the checks were counted one by one, and those
// of a project of fewer stay.
func TestCheckMetricsByTag(t *testing.T) {
	both(t, nil, func(s *site) {
		s.server.SetCheckSeries(4)
		job := s.create(object{"tags": "prod db", "timeout": 60, "grace": 60})
		s.ping(job, "")
		down := s.create(object{"tags": "prod \"\\"})
		s.ping(down, "/fail")
		s.create(object{})
		s.create(object{"tags": "db *"})
		if got := s.metrics(); got["rollcall_checks_omitted{}"] != 0 || got[`rollcall_check_up{name="",slug="",tags="prod db",unique_key="`+checks.UniqueKey(mustUUID(s, job))+`"}`] != 1 {
			s.Errorf("metrics of 4 checks, where 4 have series of their own: %v", got)
		}
		s.api("POST", path(s.create(object{"tags": "db"}))+"/pause", nil).is(200)
		s.clock.Advance(time.Minute)
		want := map[string]float64{"rollcall_checks_omitted{}": 5, "rollcall_tags_omitted{}": 0}
		for _, state := range []string{"notified", "partial", "failing", "skipped", "undeliverable", "empty"} {
			want[fmt.Sprintf("rollcall_integrations{state=%q}", state)] = 0
		}
		want[`rollcall_windows{kind="maintenance"}`], want[`rollcall_windows{kind="snooze"}`] = 0, 1
		s.api("POST", windows, object{"kind": "snooze", "duration": 600}).is(201)
		set := func(tag string, counts ...float64) { // new, up, grace, down, paused
			for i, status := range []string{"new", "up", "grace", "down", "paused"} {
				name := fmt.Sprintf("rollcall_checks{status=%q}", status)
				if tag != "" {
					name = fmt.Sprintf("rollcall_tag_checks{status=%q,tag=%q}", status, tag)
				}
				want[name] = counts[i]
			}
		}
		set("", 2, 0, 1, 1, 1)
		set("prod", 0, 0, 1, 1, 0)
		set("db", 1, 0, 1, 0, 1)
		set(`"\`, 0, 0, 0, 1, 0)
		set("*", 1, 0, 0, 0, 0)
		s.equal("metrics by tag", s.metrics(), want)
	})
}

// TestCheckMetricsOfManyTags: labels are bounded.
func TestCheckMetricsOfManyTags(t *testing.T) {
	each(t, nil, func(s *site) {
		s.server.SetCheckSeries(1)
		for i := range server.MaxTagSeries + 3 {
			s.create(object{"tags": fmt.Sprintf("all rare-%03d", i)})
		}
		got := s.metrics()
		tags := 0
		for name := range got {
			if strings.HasPrefix(name, `rollcall_tag_checks{status="new"`) {
				tags++
			}
		}
		s.equal("tags", tags, server.MaxTagSeries)
		s.equal("tags left out", got["rollcall_tags_omitted{}"], 4.0)
		s.equal("checks with the tag of all", got[`rollcall_tag_checks{status="new",tag="all"}`], float64(server.MaxTagSeries+3))
		_, first := got[`rollcall_tag_checks{status="new",tag="rare-000"}`]
		s.equal("of equal tags the first", first, true)
	})
}
