package server

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// metricsType is the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// checkSample is a check at the time of a scrape.
type checkSample struct {
	checks.Check
	labels   string
	status   checks.Status
	next     time.Time
	duration *time.Duration // of the last finished run, if known
}

// checkFamily is a metric with at most one value for each check.
type checkFamily struct {
	name, help string
	kind       string // of Prometheus: gauge or counter
	value      func(*checkSample) (value float64, some bool)
}

func checkFamilies() []checkFamily {
	return []checkFamily{
		{"rollcall_check_up", "0 when the check is down, otherwise 1.", "gauge",
			func(s *checkSample) (float64, bool) { return boolValue(s.status != checks.StatusDown), true }},
		{"rollcall_check_last_ping_timestamp_seconds", "Time of the last success or failure.", "gauge",
			func(s *checkSample) (float64, bool) { return unix(s.LastPing), !s.LastPing.IsZero() }},
		{"rollcall_check_next_ping_timestamp_seconds", "Time at which the next ping is due, or was due in grace.", "gauge",
			func(s *checkSample) (float64, bool) { return unix(s.next), !s.next.IsZero() }},
		{"rollcall_check_pings_total", "Pings received.", "counter",
			func(s *checkSample) (float64, bool) { return float64(s.NPings), true }},
		{"rollcall_check_last_duration_seconds", "Duration of the last finished run.", "gauge",
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
	list, err := checks.Stored(c.mon.Project(c.key.ProjectID).Checks(c.r.Context(), checks.Query{}))
	if err != nil {
		return err
	}
	durations, err := c.mon.Project(c.key.ProjectID).LastDurations(c.r.Context())
	if err != nil {
		return err
	}
	integrations, err := c.mon.Project(c.key.ProjectID).Channels(c.r.Context())
	if err != nil {
		return err
	}
	reach, err := c.mon.Project(c.key.ProjectID).Reach(c.r.Context(), integrations, false)
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

// writeFamily begins a metric in the text format. Its samples follow.
func writeFamily(out *bufio.Writer, name, help, kind string) {
	out.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

func writeSample(out *bufio.Writer, name, labels string, value float64) {
	out.WriteString(name + "{" + labels + "} ")
	out.Write(strconv.AppendFloat(out.AvailableBuffer(), value, 'g', -1, 64))
	out.WriteByte('\n')
}

// writeIntegrations writes how many integrations there are in each state.
func writeIntegrations(out *bufio.Writer, reach map[uuid.UUID]verdict.Reach) {
	counts := make(map[string]int)
	for _, r := range reach {
		counts[r.State]++
	}
	const name = "rollcall_integrations"
	writeFamily(out, name, "Integrations of the project by whether alerts arrive.", "gauge")
	for _, state := range []string{verdict.ReachNotified, verdict.ReachPartial, verdict.ReachFailing, verdict.ReachSkipped, verdict.ReachUndeliverable, verdict.ReachEmpty} {
		writeSample(out, name, label("state", state), float64(counts[state]))
	}
}

// writeSamples writes the metrics of checks.
func writeSamples(out *bufio.Writer, samples []checkSample) {
	for _, f := range checkFamilies() {
		begun := false // a metric without samples is left out
		for i := range samples {
			value, some := f.value(&samples[i])
			if !some {
				continue
			}
			if !begun {
				writeFamily(out, f.name, f.help, f.kind)
				begun = true
			}
			writeSample(out, f.name, samples[i].labels, value)
		}
	}
	totals := make(map[checks.Status]int)
	for i := range samples {
		if i == 0 {
			writeFamily(out, "rollcall_check_status", "1 for the status that the check has, 0 for all others.", "gauge")
		}
		totals[samples[i].status]++
		for _, status := range checkStatuses() {
			labels := samples[i].labels + "," + label("status", string(status))
			writeSample(out, "rollcall_check_status", labels, boolValue(samples[i].status == status))
		}
	}
	writeFamily(out, "rollcall_checks", "Checks of the project by status.", "gauge")
	for _, status := range checkStatuses() {
		writeSample(out, "rollcall_checks", label("status", string(status)), float64(totals[status]))
	}
}

func checkLabels(c checks.Check) string {
	return label("name", c.Name) + "," + label("slug", c.Slug) + "," + label("tags", strings.Join(c.Tags, " ")) + "," + label("unique_key", c.UniqueKey())
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// label returns a label in the text format.
func label(name, value string) string {
	value = strings.ToValidUTF8(value, "\ufffd")
	return name + `="` + labelEscaper.Replace(value) + `"`
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
