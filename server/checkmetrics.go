package server

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// metricsType is the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// checkSample is what the metrics say about a check.
type checkSample struct {
	checks.Check
	labels   string // without braces
	status   checks.Status
	next     time.Time
	duration *time.Duration
}

// sampleFamily is a metric of checks. Its value is absent for a check when some is false.
type sampleFamily struct {
	name, kind, help string
	value            func(*checkSample) (value float64, some bool)
}

func sampleFamilies() []sampleFamily {
	return []sampleFamily{
		{"rollcall_check_up", "gauge", "0 when the check is down, otherwise 1.",
			func(s *checkSample) (float64, bool) { return boolValue(s.status != checks.StatusDown), true }},
		{"rollcall_check_last_ping_timestamp_seconds", "gauge", "When the last success or failure was received.",
			func(s *checkSample) (float64, bool) { return unix(s.LastPing), !s.LastPing.IsZero() }},
		{"rollcall_check_next_ping_timestamp_seconds", "gauge", "When the next ping is expected, or was, in grace.",
			func(s *checkSample) (float64, bool) { return unix(s.next), !s.next.IsZero() }},
		{"rollcall_check_pings_total", "counter", "Pings that were received.",
			func(s *checkSample) (float64, bool) { return float64(s.NPings), true }},
		{"rollcall_check_last_duration_seconds", "gauge", "How long the last finished run took.",
			func(s *checkSample) (float64, bool) {
				if s.duration == nil {
					return 0, false
				}
				return s.duration.Seconds(), true
			}},
	}
}

// checkStatuses are the states of a check, in the order of the metrics.
func checkStatuses() []checks.Status {
	return []checks.Status{checks.StatusNew, checks.StatusUp, checks.StatusGrace, checks.StatusDown, checks.StatusPaused}
}

// metrics sends the state of all checks of the project for Prometheus. Identifiers are those that a read-only key may
// see, whatever the key is: labels end up where many can read them.
func (c *call) metrics() error {
	list, err := c.mon.Checks(c.r.Context(), c.key.ProjectID, monitor.CheckQuery{})
	if err != nil {
		return err
	}
	durations, err := c.mon.LastDurations(c.r.Context(), c.key.ProjectID)
	if err != nil {
		return err
	}
	now := c.mon.Now()
	samples := make([]checkSample, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, check := range list {
		s := checkSample{Check: check, labels: checkLabels(check), status: check.Status(now), next: check.NextPing(now)}
		if seen[s.labels] {
			continue // the unique_key is a part of the UUID; Prometheus refuses all when one is there twice
		}
		seen[s.labels] = true
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
		packed, _ := gzip.NewWriterLevel(c.w, gzip.BestSpeed) // a level that there is
		defer packed.Close()
		to = packed
	}
	out := bufio.NewWriterSize(to, 64<<10)
	writeSamples(out, samples)
	_ = out.Flush() // an error means that the client is gone
	return nil
}

// writeSamples writes samples in the text format.
func writeSamples(out *bufio.Writer, samples []checkSample) {
	var number []byte
	line := func(name, labels string, value float64) {
		out.WriteString(name)
		out.WriteByte('{')
		out.WriteString(labels)
		out.WriteString("} ")
		number = strconv.AppendFloat(number[:0], value, 'f', -1, 64)
		out.Write(number)
		out.WriteByte('\n')
	}
	head := func(name, kind, help string) {
		out.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
	}
	for _, f := range sampleFamilies() {
		head(f.name, f.kind, f.help)
		for i := range samples {
			if value, some := f.value(&samples[i]); some {
				line(f.name, samples[i].labels, value)
			}
		}
	}
	totals := make(map[checks.Status]int)
	head("rollcall_check_status", "gauge", "1 for the status that the check has, 0 for all others.")
	for i := range samples {
		totals[samples[i].status]++
		for _, status := range checkStatuses() {
			labels := samples[i].labels + `,status="` + string(status) + `"`
			line("rollcall_check_status", labels, boolValue(samples[i].status == status))
		}
	}
	head("rollcall_checks", "gauge", "Checks of the project by status.")
	for _, status := range checkStatuses() {
		line("rollcall_checks", `status="`+string(status)+`"`, float64(totals[status]))
	}
}

// checkLabels names a check.
func checkLabels(c checks.Check) string {
	return `name="` + escapeLabel(c.Name) + `",slug="` + escapeLabel(c.Slug) + `",tags="` + escapeLabel(c.Tags) +
		`",unique_key="` + c.UniqueKey() + `"`
}

// escapeLabel writes any text as the value of a label.
func escapeLabel(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if !strings.ContainsAny(text, "\\\"\n") {
		return text
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix is a time in seconds since 1970.
func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// acceptsGzip reports whether the client takes an answer that is compressed.
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
