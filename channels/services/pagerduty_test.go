package services_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

const noID = "00000000-0000-0000-0000-000000000000"

func pagerdutySample() sample {
	return sample{
		settings: values{"routing_key": "s3cr3tXs3cr3tXs3cr3tXs3cr3tX1234"},
		answers:  []answer{{status: 202, body: `{"status":"success","message":"Event processed","dedup_key":"` + noID + `"}`}},
		want: []request{{"POST", "https://events.pagerduty.com/v2/enqueue", values{},
			raw(`{"routing_key":"s3cr3tXs3cr3tXs3cr3tXs3cr3tX1234","event_action":"trigger","dedup_key":"` + noID + `","client":"Rollcall",
				"client_url":"https://rollcall.example.org/c/1",
				"links":[{"href":"https://rollcall.example.org/c/1","text":"The check in Rollcall"}],
				"payload":{"summary":"DOWN: nightly backup. Down since 2026-03-15 04:00:00 UTC: no ping in time.","source":"nightly backup",
				"severity":"critical","timestamp":"2026-03-15T04:00:00Z","component":"backup","class":"dead man's switch",
				"custom_details":{"text":"` + body + `","check":"nightly backup","uuid":"` + noID + `","slug":"backup",
				"reason":"no ping in time"}}}`)}},
	}
}

// keys are the open incidents of a receiver that knows them by a key.
type keys map[string]bool

func (k keys) open(time.Time) []string { return slices.Sorted(maps.Keys(k)) }

// pagerdutyReceiver has the rules of https://developer.pagerduty.com/docs/send-alert-event and of
// https://github.com/PagerDuty/api-schema/blob/main/reference/events-v2/openapiv3.json.
type pagerdutyReceiver struct {
	keys
	t     failer
	event map[string]any // the last one
}

func newPagerDutyReceiver(t failer) incidentServer { return &pagerdutyReceiver{t: t, keys: keys{}} }

func (p *pagerdutyReceiver) answer(w http.ResponseWriter, r *http.Request) {
	refuse := func(reason string) {
		reply(w, 400, fmt.Sprintf(`{"status":"invalid event","message":"Event object is invalid","errors":[%q]}`, reason))
	}
	var e struct {
		Key    string `json:"routing_key"`
		Action string `json:"event_action"`
		Dedup  string `json:"dedup_key"`
		Client string `json:"client"`
		URL    string `json:"client_url"`
		Links  []struct {
			HRef string `json:"href"`
			Text string `json:"text"`
		} `json:"links"`
		Payload struct {
			Summary   string         `json:"summary"`
			Source    string         `json:"source"`
			Severity  string         `json:"severity"`
			Timestamp time.Time      `json:"timestamp"`
			Component string         `json:"component"`
			Group     string         `json:"group"`
			Class     string         `json:"class"`
			Details   map[string]any `json:"custom_details"`
		} `json:"payload"`
	}
	err := decode(r, &e)
	switch p := e.Payload; {
	case r.Method != http.MethodPost || r.URL.String() != "https://events.pagerduty.com/v2/enqueue":
		reply(w, 404, "")
		return
	case err != nil:
		refuse(err.Error())
		return
	case e.Key != pagerdutySample().settings["routing_key"]:
		refuse("Invalid routing key")
		return
	case utf8.RuneCountInString(e.Dedup) > 255 || e.Dedup == "" && e.Action != "trigger":
		refuse("'dedup_key' is missing or too long")
		return
	case e.Action == "resolve":
	case e.Action != "trigger":
		refuse("'event_action' is invalid")
		return
	case p.Summary == "" || utf8.RuneCountInString(p.Summary) > 1024 || p.Source == "":
		refuse("'payload.summary' or 'payload.source' is missing or blank")
		return
	case !slices.Contains([]string{"critical", "warning", "error", "info"}, p.Severity):
		refuse("'payload.severity' is invalid")
		return
	}
	if e.Action == "trigger" {
		p.keys[e.Dedup] = true
	} else {
		delete(p.keys, e.Dedup) // an alert that is not open is ignored
	}
	content, _ := json.Marshal(e)
	p.event = nil
	if err := json.Unmarshal(content, &p.event); err != nil {
		p.t.Errorf("%v", err)
	}
	reply(w, 202, fmt.Sprintf(`{"status":"success","message":"Event processed","dedup_key":%q}`, e.Dedup))
}

// TestPagerDutyFields checks what the sample does not have.
func TestPagerDutyFields(t *testing.T) {
	l := newLine(t, "pagerduty", nil)
	l.n.Check.Project, l.n.Check.Timing, l.n.Check.Tags = "backups", "every day", []string{"prod", "db"}
	l.n.Ping = channels.Ping{At: l.now.Add(-time.Hour), Kind: "fail", ExitStatus: new(3)}
	n := l.alert(channels.Down)
	n.Reminder, n.Test = 2, true
	l.deliver(n)
	payload := l.receiver.(*pagerdutyReceiver).event["payload"].(map[string]any)
	details := payload["custom_details"].(map[string]any)
	delete(details, "text")
	want := map[string]any{
		"check": "nightly backup", "uuid": checkID, "slug": "backup", "tags": "prod db", "project": "backups",
		"expected": "every day", "reason": "no ping in time", "last_ping_kind": "fail", "last_ping": "2026-03-15T03:00:00Z",
		"exit_status": 3.0, "reminder": 2.0,
	}
	if diff := cmp.Diff(want, details); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"info", "backups"}, []any{payload["severity"], payload["group"]}); diff != "" {
		t.Error(diff)
	}
}

// TestPagerDutyLimits uses texts longer than PagerDuty accepts.
func TestPagerDutyLimits(t *testing.T) {
	l := newLine(t, "pagerduty", nil)
	l.n.Incident, l.n.Check.Name, l.n.Reason = strings.Repeat("i", 999), strings.Repeat("ž", 999), strings.Repeat("ž", 999)
	l.deliver(l.alert(channels.Down))
	l.expect("down", 1)
}

// TestPagerDutyRetries checks the table of response codes in the document.
func TestPagerDutyRetries(t *testing.T) {
	const again = "the answer is not in the format of this service, check the URL"
	tests := []struct {
		answer    answer
		permanent bool
		open      bool
		text      string
	}{
		{answer{status: 400, body: `{"status":"invalid event"}`}, true, false, ""},
		{answer{status: 429}, false, false, ""},
		{answer{status: 500}, false, true, ""},
		{answer{status: 202, body: `{"status":"throttled","message":"later"}`}, false, true, "the service refuses the message: throttled later"},
		{answer{status: 202, body: `{}`}, false, true, again},
		{answer{status: 200, body: `{"status":"success"}`}, false, true, again},
	}
	for _, tt := range tests {
		l := newLine(t, "pagerduty", nil)
		l.receiver = fixed{tt.answer}
		err := l.try(l.alert(channels.Down))
		if err == nil || channels.IsPermanent(err) != tt.permanent || (l.open != "") != tt.open {
			t.Errorf("%v: permanent %v, open %q: %v", tt.answer, channels.IsPermanent(err), l.open, err)
		}
		if tt.text != "" && err.Error() != tt.text {
			t.Error(cmp.Diff(tt.text, err.Error()))
		}
	}
}

// fixed is a receiver that always gives the same answer.
type fixed struct{ is answer }

func (f fixed) open(time.Time) []string { return nil }

func (f fixed) answer(w http.ResponseWriter, _ *http.Request) { reply(w, f.is.status, f.is.body) }

// TestRegions checks that accounts in Europe have their own address.
func TestRegions(t *testing.T) {
	want := map[channels.Kind]string{
		"pagerduty": "https://events.eu.pagerduty.com/v2/enqueue", "opsgenie": "https://api.eu.opsgenie.com/v2/alerts",
	}
	for kind, address := range want {
		l := newLine(t, kind, values{"region": "eu"})
		var got string
		l.broken = func(r *http.Request) string { got = r.URL.String(); return "" }
		l.receiver = fixed{samples()[kind].answers[0]}
		l.n.Check.ID = uuid.Nil
		l.deliver(l.alert(channels.Down))
		if got != address {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
