package server

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// metricsType is the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// checkSample is a check at the time of a scrape.
type checkSample struct {
	checks.Check
	labels   []*dto.LabelPair
	status   checks.Status
	next     time.Time
	duration *time.Duration // of the last finished run, if known
}

// checkFamily is a metric with at most one value for each check.
type checkFamily struct {
	name, help string
	kind       dto.MetricType
	value      func(*checkSample) (value float64, some bool)
}

func checkFamilies() []checkFamily {
	return []checkFamily{
		{"rollcall_check_up", "0 when the check is down, otherwise 1.", dto.MetricType_GAUGE,
			func(s *checkSample) (float64, bool) { return boolValue(s.status != checks.StatusDown), true }},
		{"rollcall_check_last_ping_timestamp_seconds", "Time of the last success or failure.", dto.MetricType_GAUGE,
			func(s *checkSample) (float64, bool) { return unix(s.LastPing), !s.LastPing.IsZero() }},
		{"rollcall_check_next_ping_timestamp_seconds", "Time at which the next ping is due, or was due in grace.", dto.MetricType_GAUGE,
			func(s *checkSample) (float64, bool) { return unix(s.next), !s.next.IsZero() }},
		{"rollcall_check_pings_total", "Pings received.", dto.MetricType_COUNTER,
			func(s *checkSample) (float64, bool) { return float64(s.NPings), true }},
		{"rollcall_check_last_duration_seconds", "Duration of the last finished run.", dto.MetricType_GAUGE,
			func(s *checkSample) (float64, bool) {
				if s.duration == nil {
					return 0, false
				}
				return s.duration.Seconds(), true
			}},
	}
}

// checkStatuses lists the states of a check in the order of the metrics.
func checkStatuses() []checks.Status {
	return []checks.Status{checks.StatusNew, checks.StatusUp, checks.StatusGrace, checks.StatusDown, checks.StatusPaused}
}

// metrics sends the state of all checks of the project to Prometheus. Many people can read labels, so checks are
// identified as for a read-only key, whatever the key.
func (c *call) metrics() error {
	list, err := c.mon.Views().Checks(c.r.Context(), c.key.ProjectID, checks.Query{})
	if err != nil {
		return err
	}
	durations, err := c.mon.Views().LastDurations(c.r.Context(), c.key.ProjectID)
	if err != nil {
		return err
	}
	integrations, err := c.mon.Project(c.key.ProjectID).Channels(c.r.Context())
	if err != nil {
		return err
	}
	reach, err := c.mon.Views().Reach(c.r.Context(), c.key.ProjectID, integrations, false)
	if err != nil {
		return err
	}
	now := c.mon.Now()
	samples := make([]checkSample, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, check := range list {
		s := checkSample{Check: check, labels: checkLabels(check), status: check.Status(now), next: check.NextPing(now)}
		// Checks whose UUIDs start alike share a unique_key. Prometheus drops a scrape that has one sample twice.
		identity := check.Name + "\x00" + check.Slug + "\x00" + strings.Join(check.Tags, " ") + "\x00" + check.UniqueKey()
		if seen[identity] {
			continue
		}
		seen[identity] = true
		if d, some := durations[check.ID]; some {
			s.duration = &d
		}
		samples = append(samples, s)
	}
	h := c.w.Header()
	h.Set("Content-Type", metricsType)
	h.Set("Vary", "Accept-Encoding")
	var to io.Writer = c.w
	if acceptsGzip(c.r) {
		h.Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(c.w, gzip.BestSpeed) // fails only for an unknown level
		defer packed.Close()
		to = packed
	}
	out := bufio.NewWriterSize(to, 64<<10)
	writeSamples(out, samples)
	writeIntegrations(out, reach)
	_ = out.Flush() // an error means that the client is gone
	return nil
}

// writeFamily writes a metric in the text format.
func writeFamily(out *bufio.Writer, name, help string, kind dto.MetricType, metrics []*dto.Metric) {
	if len(metrics) > 0 {
		_, _ = expfmt.MetricFamilyToText(out, &dto.MetricFamily{Name: &name, Help: &help, Type: &kind, Metric: metrics})
	}
}

// writeIntegrations writes how many integrations there are in each state.
func writeIntegrations(out *bufio.Writer, reach map[uuid.UUID]verdict.Reach) {
	counts := make(map[string]int)
	for _, r := range reach {
		counts[r.State]++
	}
	var metrics []*dto.Metric
	for _, state := range []string{verdict.ReachNotified, verdict.ReachPartial, verdict.ReachFailing, verdict.ReachSkipped, verdict.ReachUndeliverable, verdict.ReachEmpty} {
		metrics = append(metrics, metric(dto.MetricType_GAUGE, float64(counts[state]), []*dto.LabelPair{label("state", state)}))
	}
	writeFamily(out, "rollcall_integrations", "Integrations of the project by whether alerts arrive.", dto.MetricType_GAUGE, metrics)
}

// writeSamples writes the metrics of checks.
func writeSamples(out *bufio.Writer, samples []checkSample) {
	write := func(name, help string, kind dto.MetricType, metrics []*dto.Metric) {
		writeFamily(out, name, help, kind, metrics)
	}
	for _, f := range checkFamilies() {
		var metrics []*dto.Metric
		for i := range samples {
			if value, some := f.value(&samples[i]); some {
				metrics = append(metrics, metric(f.kind, value, samples[i].labels))
			}
		}
		write(f.name, f.help, f.kind, metrics)
	}
	var each, total []*dto.Metric
	totals := make(map[checks.Status]int)
	for i := range samples {
		totals[samples[i].status]++
		for _, status := range checkStatuses() {
			labels := append(slices.Clip(samples[i].labels), label("status", string(status)))
			each = append(each, metric(dto.MetricType_GAUGE, boolValue(samples[i].status == status), labels))
		}
	}
	for _, status := range checkStatuses() {
		total = append(total, metric(dto.MetricType_GAUGE, float64(totals[status]), []*dto.LabelPair{label("status", string(status))}))
	}
	write("rollcall_check_status", "1 for the status that the check has, 0 for all others.", dto.MetricType_GAUGE, each)
	write("rollcall_checks", "Checks of the project by status.", dto.MetricType_GAUGE, total)
}

func metric(kind dto.MetricType, value float64, labels []*dto.LabelPair) *dto.Metric {
	if kind == dto.MetricType_COUNTER {
		return &dto.Metric{Label: labels, Counter: &dto.Counter{Value: &value}}
	}
	return &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: &value}}
}

func checkLabels(c checks.Check) []*dto.LabelPair {
	return []*dto.LabelPair{label("name", c.Name), label("slug", c.Slug), label("tags", strings.Join(c.Tags, " ")), label("unique_key", c.UniqueKey())}
}

func label(name, value string) *dto.LabelPair {
	value = strings.ToValidUTF8(value, "\ufffd")
	return &dto.LabelPair{Name: &name, Value: &value}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix returns a time in seconds since 1970.
func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// acceptsGzip reports whether the client accepts a compressed answer.
func acceptsGzip(r *http.Request) bool {
	for item := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(item, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(strings.TrimPrefix(strings.ToLower(weight), "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// bearer returns the key of a request with "Authorization: Bearer", as Prometheus sends it, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
