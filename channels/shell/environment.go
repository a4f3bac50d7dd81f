package shell

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

// timeFormat is the format of the API, for times in UTC.
const timeFormat = "2006-01-02T15:04:05+00:00"

func environment(n channels.Notification) []string {
	exitStatus, duration, test := "", "", "0"
	if n.Ping.ExitStatus != nil {
		exitStatus = strconv.Itoa(*n.Ping.ExitStatus)
	}
	if n.Ping.Duration > 0 {
		duration = strconv.FormatFloat(n.Ping.Duration.Seconds(), 'f', -1, 64)
	}
	if n.Test {
		test = "1"
	}
	variables := []struct{ name, value string }{
		{"CHECK_NAME", n.Check.Name},
		{"CHECK_SLUG", n.Check.Slug},
		{"CHECK_UUID", n.Check.ID.String()},
		{"CHECK_TAGS", strings.Join(n.Check.Tags, " ")},
		{"CHECK_DESC", n.Check.Desc},
		{"CHECK_TIMING", n.Check.Timing},
		{"CHECK_URL", n.Check.URL},
		{"PROJECT", n.Check.Project},
		{"STATUS", string(n.Status)},
		{"REASON", n.Reason},
		{"CAUSE", n.Cause},
		{"AT", formatTime(n.At)},
		{"DOWN_FOR", strconv.FormatInt(int64(n.DownFor/time.Second), 10)},
		{"REMINDER", strconv.Itoa(n.Reminder)},
		{"OVER", formatTime(n.Over)},
		{"LAST_PING", formatTime(n.Ping.At)},
		{"PING_KIND", n.Ping.Kind},
		{"EXIT_STATUS", exitStatus},
		{"DURATION", duration},
		{"BODY_END", string(n.Ping.End)},
		{"ALERT_ID", n.ID},
		{"INCIDENT", n.Incident},
		{"TEST", test},
		{"PATH", os.Getenv("PATH")},
		{"HOME", os.Getenv("HOME")},
	}
	list := make([]string, len(variables))
	for i, v := range variables {
		list[i] = v.name + "=" + strings.ReplaceAll(v.value, "\x00", "") // a NUL would end the value
	}
	return list
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}
