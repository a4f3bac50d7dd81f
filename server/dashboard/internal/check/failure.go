package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
	"github.com/rollcall-dev/rollcall/pings/text"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

const (
	// tailLines is how many lines of the output of a failure the page of a check shows, and comparedLines how many of it
	// and of the last success's it compares.
	tailLines, comparedLines = 15, 200
	// lineBytes bounds a line.
	lineBytes = 500
	// usualRuns is how many successes tell how long a run usually takes, leastRuns how many that needs.
	usualRuns, leastRuns = 100, 3
	// bodyTime bounds reading a body that may be in object storage.
	bodyTime = 2 * time.Second
)

// failureView is the failure that ended the last run.
type failureView struct {
	Ping  pings.Ping
	Usual time.Duration // the median of the successes, or 0 if that is unknown
	// Output has the last of Lines lines; it is "" if Problem says why. Cause is the line of it that says why the job failed, or "".
	Output  string
	Cause   string
	Lines   int
	Problem string
	// Against compares it with the last success that has an output, or is nil.
	Against *comparison
}

// comparison compares the last lines of an output with those of an earlier success. Problem says why there are none.
type comparison struct {
	Success pings.Ping
	Lines   []diffLine
	Problem string
}

// Shown is how many lines of the output the page shows.
func (v failureView) Shown() int { return min(v.Lines, tailLines) }

// failureOf returns the failure that ended the last run in a log, newest first, or nil if that was a success.
func failureOf(q *ui.Request, log []pings.Ping) *failureView {
	at := slices.IndexFunc(log, func(p pings.Ping) bool { return p.Kind == pings.Success || p.Kind == pings.Failure })
	if at < 0 || log[at].Kind == pings.Success {
		return nil
	}
	v := &failureView{Ping: log[at], Usual: usual(log)}
	if v.Ping.BodySize == 0 {
		return v
	}
	text, problem := outputOf(q, &v.Ping)
	lines := linesOf(text)
	if v.Problem = problem; len(lines) > 0 {
		v.Lines, v.Output = len(lines), output(strings.Join(lines[max(0, len(lines)-tailLines):], "\n"))
		v.Cause, v.Against = ui.FailureOf(v.Ping).Cause, against(q, text, log[at:])
	}
	return v
}

// Marked is the output with the line that says why the job failed marked.
func (v failureView) Marked() template.HTML {
	lines := strings.Split(template.HTMLEscapeString(v.Output), "\n")
	blanks := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	cause := template.HTMLEscapeString(blanks(strings.Trim(v.Cause, "… ")))
	for i, line := range slices.Backward(lines) {
		if cause != "" && strings.Contains(blanks(line), cause) {
			lines[i] = "<mark>" + line + "</mark>"
			break
		}
	}
	return template.HTML(strings.Join(lines, "\n"))
}

// usual returns the median duration of the newest successes in a log, or 0 if there are too few.
func usual(log []pings.Ping) time.Duration {
	var took []time.Duration
	for _, p := range log {
		if p.Kind == pings.Success && p.Duration != nil && len(took) < usualRuns {
			took = append(took, *p.Duration)
		}
	}
	if len(took) < leastRuns {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// outputOf returns the output that a ping of a log carried, or why there is none to show. It adds the body to the ping.
func outputOf(q *ui.Request, logged *pings.Ping) (output, problem string) {
	ctx, cancel := context.WithTimeout(q.Ctx(), bodyTime)
	defer cancel()
	p, err := q.Mon.Project(q.Check.ProjectID).PingWithBody(ctx, q.Check.ID, logged.N)
	switch {
	case errors.Is(err, checks.ErrBodyCorrupt):
		return "", "The object storage returned something else than the job sent."
	case err != nil:
		return "", "The output cannot be read at the moment."
	}
	*logged = p
	return textOf(p)
}

// textOf returns the text of a body, or why there is none to show.
func textOf(p pings.Ping) (output, problem string) {
	if p.Scheme == "email" {
		mail := email.Parse(p.Body)
		return cmp.Or(mail.Text, mail.HTML), ""
	}
	head, tail, ok := text.Ends(p)
	if !ok {
		return "", "The output is not text."
	}
	if p.BodyCut > 0 {
		head = fmt.Sprintf("%s\n[%d bytes were left out here]\n%s", head, p.BodyCut, tail)
	}
	return head, ""
}

// linesOf returns the lines of an output as a terminal leaves them: of a progress bar, what was written last. It leaves out
// blank lines at the end.
func linesOf(text string) []string {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if len(line) > lineBytes {
			line = prose.Cut(line, lineBytes)
		}
		lines[i] = line
	}
	return lines
}

// against compares an output with that of the newest success of an older log, or returns nil if there is none.
func against(q *ui.Request, text string, older []pings.Ping) *comparison {
	i := slices.IndexFunc(older, func(p pings.Ping) bool { return p.Kind == pings.Success && p.BodySize > 0 })
	if i < 0 {
		return nil
	}
	c := &comparison{Success: older[i]}
	good, problem := outputOf(q, &c.Success)
	if c.Problem = problem; problem != "" {
		return c
	}
	plain := func(text string) []string {
		lines := linesOf(prose.WithoutSequences(text))
		return lines[max(0, len(lines)-comparedLines):]
	}
	c.Lines = fold(diff(plain(good), plain(text)))
	return c
}
