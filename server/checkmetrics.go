package server

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// metricsType is the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// checkSample is what metrics say of a check at the time of a scrape.
type checkSample struct {
	labels         string
	status         checks.Status
	lastPing, next time.Time
	pings          int64
	duration       *time.Duration           // of the last finished run, if known
	windows        map[gate.WindowKind]bool // those that are in effect
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
		{"rollcall_check_in_maintenance", "1 during a maintenance window, otherwise 0.", "gauge",
			func(s *checkSample) (float64, bool) { return boolValue(s.windows[gate.Maintenance]), true }},
		{"rollcall_check_snoozed", "1 during a snooze, otherwise 0.", "gauge",
			func(s *checkSample) (float64, bool) { return boolValue(s.windows[gate.Snooze]), true }},
		{"rollcall_check_last_ping_timestamp_seconds", "Time of the last success or failure.", "gauge",
			func(s *checkSample) (float64, bool) { return unix(s.lastPing), !s.lastPing.IsZero() }},
		{"rollcall_check_next_ping_timestamp_seconds", "Time at which the next ping is due, or was due in grace.", "gauge",
			func(s *checkSample) (float64, bool) { return unix(s.next), !s.next.IsZero() }},
		{"rollcall_check_pings_total", "Pings received.", "counter",
			func(s *checkSample) (float64, bool) { return float64(s.pings), true }},
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

// maxCheckSeries is the most checks of a project for which each has its own series.
const maxCheckSeries = 10_000

// maxTagSeries is how many tags have metrics in a project with more checks: those of the most checks.
const maxTagSeries = 200

// metrics sends the state of all checks of the project to Prometheus. Many people can read labels, so checks are
// identified as for a read-only key, whatever the key.
func (c *call) metrics() error {
	project := c.mon.Project(c.key.ProjectID)
	integrations, err := project.Channels(c.r.Context())
	if err != nil {
		return err
	}
	reach, err := project.Reach(c.r.Context(), integrations, false)
	if err != nil {
		return err
	}
	windows, err := project.Windows(c.r.Context(), checks.WindowQuery{})
	if err != nil {
		return err
	}
	now := c.mon.Now()
	windows = slices.DeleteFunc(windows, func(w gate.Window) bool {
		_, in := w.At(now)
		return !in
	})
	sets, err := project.TagSets(c.r.Context(), nil)
	if err != nil {
		return err
	}
	if checks.CountAll(sets).Total() > c.checkSeries {
		c.sendMetrics(func(out *bufio.Writer) {
			writeTags(out, sets)
			writeIntegrations(out, reach)
			writeWindows(out, windows)
		})
		return nil
	}
	samples, err := c.checkSamples(windows)
	if err != nil {
		return err
	}
	c.sendMetrics(func(out *bufio.Writer) {
		writeSamples(out, samples)
		writeIntegrations(out, reach)
		writeWindows(out, windows)
	})
	return nil
}

// sendMetrics sends what a function writes, compressed if the client accepts that.
func (c *call) sendMetrics(write func(out *bufio.Writer)) {
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
	write(out)
	_ = out.Flush() // an error means that the client is gone
}

// checkSamples returns the samples of the checks of the project, whose windows are those in effect.
func (c *call) checkSamples(windows []gate.Window) ([]checkSample, error) {
	project := c.mon.Project(c.key.ProjectID)
	durations, err := project.LastDurations(c.r.Context())
	if err != nil {
		return nil, err
	}
	now := c.mon.Now()
	var samples []checkSample
	seen := make(map[string]bool)
	for check, err := range project.EachCheck(c.r.Context(), checks.Query{}) {
		if err != nil {
			return nil, err
		}
		// Checks whose UUIDs start alike share a unique_key. Prometheus drops a scrape that has one sample twice.
		labels := checkLabels(*check.Check)
		if seen[labels] {
			continue
		}
		seen[labels] = true
		s := checkSample{labels: labels, status: check.Check.Status(now), lastPing: check.LastPing, next: check.Check.NextPing(now), pings: check.NPings}
		if d, some := durations[check.ID]; some {
			s.duration = &d
		}
		for _, w := range windows {
			if w.Covers(check.ID, check.Check.TagList()) {
				if s.windows == nil {
					s.windows = make(map[gate.WindowKind]bool)
				}
				s.windows[w.Kind] = true
			}
		}
		samples = append(samples, s)
	}
	return samples, nil
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

// writeWindows writes how many windows of each kind are in effect.
func writeWindows(out *bufio.Writer, windows []gate.Window) {
	counts := make(map[gate.WindowKind]int)
	for _, w := range windows {
		counts[w.Kind]++
	}
	const name = "rollcall_windows"
	writeFamily(out, name, "Maintenance windows and snoozes of the project that are in effect.", "gauge")
	for _, kind := range []gate.WindowKind{gate.Maintenance, gate.Snooze} {
		writeSample(out, name, label("kind", string(kind)), float64(counts[kind]))
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
	totals := make(checks.Counts)
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
	writeTotals(out, totals)
}

// writeTotals writes how many checks the project has of each status.
func writeTotals(out *bufio.Writer, totals checks.Counts) {
	writeFamily(out, "rollcall_checks", "Checks of the project by status.", "gauge")
	for _, status := range checkStatuses() {
		writeSample(out, "rollcall_checks", label("status", string(status)), float64(totals[status]))
	}
}

// writeTags writes the metrics of a project with too many checks for metrics of each.
func writeTags(out *bufio.Writer, sets []checks.TagSet) {
	all, byTag := checks.CountAll(sets), checks.CountByTag(sets)
	tags := slices.SortedFunc(maps.Keys(byTag), func(a, b string) int {
		return cmp.Or(cmp.Compare(byTag[b].Total(), byTag[a].Total()), cmp.Compare(a, b))
	})
	named := slices.Sorted(slices.Values(tags[:min(len(tags), maxTagSeries)]))
	writeTotals(out, all)
	const name = "rollcall_tag_checks"
	for i, tag := range named {
		if i == 0 {
			writeFamily(out, name, fmt.Sprintf("Checks of the project by tag and status, for the %d tags of the most checks. A check counts for each of its tags.", maxTagSeries), "gauge")
		}
		for _, status := range checkStatuses() {
			writeSample(out, name, label("tag", tag)+","+label("status", string(status)), float64(byTag[tag][status]))
		}
	}
	writeFamily(out, "rollcall_checks_omitted", fmt.Sprintf("Checks without metrics of their own: a project of more than %d checks has metrics by tag instead.", maxCheckSeries), "gauge")
	fmt.Fprintln(out, "rollcall_checks_omitted", all.Total())
	writeFamily(out, "rollcall_tags_omitted", fmt.Sprintf("Tags without metrics: those of the fewest checks if there are more than %d.", maxTagSeries), "gauge")
	fmt.Fprintln(out, "rollcall_tags_omitted", len(tags)-len(named))
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
