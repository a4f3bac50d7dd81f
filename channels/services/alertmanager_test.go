package services_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/services"
)

func alertmanagerSample() sample {
	return sample{
		settings: values{"url": "http://am.example.org:9093/am/", "username": "u", "password": "s3cr3tX:ž",
			"labels": "severity=page\n\nteam = ops, eu=1\r\n"},
		answers: ok(""),
		want: []request{{"POST", "http://am.example.org:9093/am/api/v2/alerts", values{"Authorization": "Basic dTpzM2NyM3RYOsW+"},
			raw(`[{"labels":{"alertname":"RollcallCheckDown","check":"nightly backup","uuid":"` + noID + `","slug":"backup",
				"severity":"page","team":"ops, eu=1"},"annotations":{"summary":"` + title + `","description":"` + body + `"},
				"startsAt":"2026-03-15T04:00:00Z","endsAt":"2027-01-15T08:04:00Z","generatorURL":"https://rollcall.example.org/c/1"}]`)}},
	}
}

type postedAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

// alertmanagerReceiver has the rules of https://prometheus.io/docs/alerting/latest/alerts_api/ and of
// https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml: labels identify an alert, and it is resolved
// once its end has passed. Each member has its own alerts.
type alertmanagerReceiver struct {
	t   failer
	now func() time.Time
	// members has the alerts of each member, by their labels. away lists the members that do not answer.
	members map[string]map[string]postedAlert
	away    []string
}

func newAlertmanagerReceiver(t failer) incidentServer {
	return &alertmanagerReceiver{t: t, now: time.Now, members: map[string]map[string]postedAlert{}}
}

func (a *alertmanagerReceiver) answer(w http.ResponseWriter, r *http.Request) {
	var alerts []postedAlert
	user, password, _ := r.BasicAuth()
	switch err := decode(r, &alerts); {
	case slices.Contains(a.away, r.URL.Hostname()):
		panic(http.ErrAbortHandler)
	case r.Method != http.MethodPost || r.URL.Path != "/am/api/v2/alerts":
		reply(w, 404, "404 page not found")
		return
	case user != "u" || password != "s3cr3tX:ž":
		reply(w, 401, "Unauthorized\n")
		return
	case r.Header.Get("Content-Type") != "application/json" || err != nil:
		reply(w, 400, `{"code":400,"message":"parsing alerts body failed"}`)
		return
	}
	for _, one := range alerts {
		if one.Labels["alertname"] == "" || one.EndsAt.Before(one.StartsAt) || !validLabels(one.Labels) {
			reply(w, 400, `"start time must be before end time"`)
			return
		}
		key, _ := json.Marshal(one.Labels)
		member := a.members[r.URL.Hostname()]
		if member == nil {
			member = map[string]postedAlert{}
			a.members[r.URL.Hostname()] = member
		}
		// provider/mem keeps the later end of two alerts that overlap, unless the new one is resolved.
		if old, found := member[string(key)]; found && one.EndsAt.After(a.now()) && one.StartsAt.Before(old.EndsAt) && old.EndsAt.After(one.EndsAt) {
			one.EndsAt = old.EndsAt
		}
		member[string(key)] = one
	}
}

func validLabels(labels map[string]string) bool {
	for name, value := range labels {
		if !regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`).MatchString(name) || value == "" {
			return false
		}
	}
	return true
}

func (a *alertmanagerReceiver) open(now time.Time) []string {
	var open []string
	for _, member := range a.members {
		for key, one := range member {
			if one.EndsAt.After(now) && !slices.Contains(open, key) {
				open = append(open, key)
			}
		}
	}
	return open
}

// openAt reports whether a member has an open alert.
func (a *alertmanagerReceiver) openAt(member string, now time.Time) bool {
	for _, one := range a.members[member] {
		if one.EndsAt.After(now) {
			return true
		}
	}
	return false
}

// TestAlertmanagerRefresh sends an open alert again as often as the notifier asks for: it stays open with all that makes
// it known, and ends by itself a few minutes after the last time.
func TestAlertmanagerRefresh(t *testing.T) {
	l := newLine(t, "alertmanager", nil)
	n := l.alert(channels.Down)
	l.deliver(n)
	labels := l.receiver.open(l.now)
	started := l.now
	for range 10 {
		l.now = l.now.Add(l.notifier.Refresh())
		n.Check.Name, n.Check.Tags, n.Check.Slug, n.Check.Project = "renamed", []string{"other"}, "s", "p"
		l.channel.Settings["labels"] = "severity=info"
		if err := l.try(n); err != nil {
			t.Fatal(err)
		}
		l.expect("refreshed", 1)
	}
	if diff := cmp.Diff(labels, l.receiver.open(l.now)); diff != "" {
		t.Error(diff)
	}
	for _, one := range l.receiver.(*alertmanagerReceiver).members["am.example.org"] {
		if diff := cmp.Diff([]any{started, "DOWN: renamed", 4 * time.Minute},
			[]any{one.StartsAt, one.Annotations["summary"], one.EndsAt.Sub(l.now)}); diff != "" {
			t.Error(diff)
		}
	}
	l.now = l.now.Add(4 * l.notifier.Refresh())
	if open := l.receiver.open(l.now); len(open) != 0 {
		t.Errorf("without a refresh, open are %q", open)
	}
}

// TestAlertmanagerEnd checks the end of a resolved alert, which must be past for clocks that are behind.
func TestAlertmanagerEnd(t *testing.T) {
	day := func(hour, minute, second int) time.Time {
		return time.Date(2026, time.March, 15, hour, minute, second, 0, time.UTC)
	}
	tests := []struct {
		name         string
		at, now      time.Time
		starts, ends time.Time
	}{
		{"reported late", day(5, 0, 0), day(9, 0, 0), day(4, 0, 0), day(5, 0, 0)},
		{"reported at once", day(5, 0, 0), day(5, 0, 1), day(4, 0, 0), day(4, 59, 1)},
		{"down for seconds", day(4, 0, 2), day(4, 0, 3), day(3, 59, 2), day(3, 59, 3)},
		{"clock of the sender is behind", day(5, 0, 0), day(3, 0, 0), day(2, 58, 59), day(2, 59, 0)},
	}
	for _, remembered := range []bool{true, false} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.name, remembered), func(t *testing.T) {
				l := newLine(t, "alertmanager", nil)
				l.deliver(l.alert(channels.Down))
				if !remembered {
					l.open = ""
				}
				l.now = tt.at
				n := l.alert(channels.Up)
				n.DownFor = tt.at.Sub(day(4, 0, 0))
				l.now = tt.now
				l.deliver(n)
				for _, one := range l.receiver.(*alertmanagerReceiver).members["am.example.org"] {
					if diff := cmp.Diff([]time.Time{tt.starts, tt.ends}, []time.Time{one.StartsAt, one.EndsAt}); diff != "" {
						t.Error(diff)
					}
				}
			})
		}
	}
}

// TestAlertmanagerCluster has a member that is away: it costs one retry at down and up, and none at a refresh.
func TestAlertmanagerCluster(t *testing.T) {
	l := newLine(t, "alertmanager", values{"url": "http://am.example.org/am, http://other.example.org/am"})
	cluster := l.receiver.(*alertmanagerReceiver)
	cluster.away = []string{"other.example.org"}
	attempt := func(what string, n channels.Notification, accepted []string, failed bool) {
		t.Helper()
		err := l.try(n)
		if (err != nil) != failed || channels.IsPermanent(err) {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff(accepted, channels.Accepted(err)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	n := l.alert(channels.Down)
	attempt("down", n, []string{"member 1"}, true)
	l.expect("down", 1)
	n.Done = []string{"member 1"}
	attempt("down again", n, nil, false)
	n.Done = nil
	attempt("refresh", n, nil, false)

	cluster.away = []string{"am.example.org", "other.example.org"}
	attempt("refresh without any member", n, nil, true)
	l.expect("refresh without any member", 1)

	cluster.away = []string{"am.example.org"}
	attempt("refresh after a change", n, nil, false)
	if !cluster.openAt("other.example.org", l.now) {
		t.Error("the member that was away has no alert")
	}

	l.now = l.now.Add(time.Minute)
	up := l.alert(channels.Up)
	attempt("up", up, []string{"member 2"}, true)
	if l.open == "" {
		t.Error("the labels are forgotten before the retry")
	}
	up.Done = []string{"member 2"}
	attempt("up again", up, nil, false)
	if l.open != "" || cluster.openAt("other.example.org", l.now) {
		t.Errorf("not resolved: %q", l.open)
	}
	l.now = l.now.Add(3 * time.Minute)
	if cluster.openAt("am.example.org", l.now) {
		t.Error("what a member missed does not end")
	}
}

// TestAlertmanagerErrors checks the text of several errors. They are permanent only if all are.
func TestAlertmanagerErrors(t *testing.T) {
	l := newLine(t, "alertmanager", values{"url": "http://am.example.org/am,http://other.example.org/am"})
	l.broken = func(r *http.Request) string {
		if r.URL.Hostname() == "other.example.org" {
			return "away"
		}
		return ""
	}
	l.receiver = fixed{answer{status: 410, body: "gone s3cr3tX:ž"}}
	err := l.try(l.alert(channels.Down))
	want := "member 2: the receiver answered with status 503 Service Unavailable; member 1: the receiver answered with status 410 Gone: gone ***"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || channels.IsPermanent(err) {
		t.Error(diff)
	}
	l.broken = nil
	if err := l.try(l.alert(channels.Down)); !channels.IsPermanent(err) {
		t.Error(err)
	}
}

// TestAlertmanagerLongLabels remembers the longest labels.
func TestAlertmanagerLongLabels(t *testing.T) {
	l := newLine(t, "alertmanager", values{"labels": "a=" + strings.Repeat(`"`, 3990)})
	l.n.Check.Name, l.n.Check.Project = strings.Repeat("😀", 100), strings.Repeat("\\", 100)
	l.n.Check.Tags = nil
	for i := range 250 {
		l.n.Check.Tags = append(l.n.Check.Tags, fmt.Sprintf("%c", 'A'+i%60))
	}
	l.deliver(l.alert(channels.Down))
	l.expect("down", 1)
	l.deliver(l.alert(channels.Up))
	l.expect("up", 0)
}

func FuzzLabels(f *testing.F) {
	f.Add("severity=page\nteam=ops")
	f.Add("=\n=\r\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, info := range services.New(nil) {
			for _, s := range info.Settings {
				if info.Kind == "alertmanager" && s.Name == "labels" {
					_ = s.Check(text)
				}
			}
		}
	})
}

func TestAlertmanagerSettings(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"url", " , ", "alertmanager: url is not a list of 1 to 10 URLs"},
		{"url", strings.Repeat("http://h,", 11), "alertmanager: url is not a list of 1 to 10 URLs"},
		{"url", "http://h,ftp://h", "alertmanager: url is not an http:// or https:// URL"},
		{"url", "http://u:p@h", "alertmanager: url contains credentials"},
		{"url", "http://h?a=b", "alertmanager: url has a query or a fragment"},
		{"url", "http://[::1]:9093,https://h/am/", "<nil>"},
		{"password", "x", "alertmanager: username is missing, password needs it"},
		{"username", "a:b", "alertmanager: username contains a colon"},
		{"token", "x\ny", "alertmanager: token contains a space, a control character or a non-ASCII character"},
		{"labels", "a=b\nc", "alertmanager: labels has no = in line 2, write name=value"},
		{"labels", "1a=b", "alertmanager: labels has an invalid name in line 1: letters, digits and _, no digit first"},
		{"labels", "é=b", "alertmanager: labels has an invalid name in line 1: letters, digits and _, no digit first"},
		{"labels", "uuid=1", "alertmanager: labels uses a name in line 1 that only Rollcall may set"},
		{"labels", "tag_x=1", "alertmanager: labels uses a name in line 1 that only Rollcall may set"},
		{"labels", "a=", "alertmanager: labels has no value in line 1"},
		{"labels", "a=b\x01c", "alertmanager: labels has a control character in line 1"},
		{"labels", "a=1\na=2", "alertmanager: labels repeats a name in line 2"},
		{"labels", strings.Repeat("x", 4001), "alertmanager: labels is too long: 4001 bytes, the maximum is 4000"},
	}
	for _, tt := range tests {
		settings := values{"url": "http://h", tt.name: tt.value}
		_, err := channels.Validate(services.New(nil), "alertmanager", settings, nil)
		if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%q: %s", tt.value, diff)
		}
	}
}
