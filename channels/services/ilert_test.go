package services_test

import (
	"net/http"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
)

func ilertSample() sample {
	return sample{
		settings: values{"integration_key": "s3cr3tX", "priority": "LOW"},
		answers:  []answer{{status: 202}},
		want: []request{{"POST", "https://api.ilert.com/api/events", values{},
			raw(`{"integrationKey":"s3cr3tX","eventType":"ALERT","alertKey":"` + noID + `","summary":"` + title + `","details":"` + body + `",
				"priority":"LOW","links":[{"href":"https://rollcall.example.org/c/1","text":"The check in Rollcall"}]}`)}},
	}
}

// ilertReceiver has the rules of https://api.ilert.com/api-docs/#tag/events/post/events.
type ilertReceiver struct{ keys }

func newIlertReceiver(failer) incidentServer { return ilertReceiver{keys{}} }

func (i ilertReceiver) answer(w http.ResponseWriter, r *http.Request) {
	var e struct {
		IntegrationKey string `json:"integrationKey"`
		EventType      string `json:"eventType"`
		AlertKey       string `json:"alertKey"`
		Summary        string `json:"summary"`
		Details        string `json:"details"`
		Priority       string `json:"priority"`
		Links          []struct {
			HRef string `json:"href"`
			Text string `json:"text"`
		} `json:"links"`
	}
	switch err := decode(r, &e); {
	case r.Method != http.MethodPost || r.URL.String() != "https://api.ilert.com/api/events":
		reply(w, 404, "")
	case err != nil || e.IntegrationKey != "s3cr3tX" || e.Summary == "" || e.Priority != "" && e.Priority != "HIGH" && e.Priority != "LOW":
		reply(w, 400, `{"status":400,"message":"bad request"}`)
	case e.EventType == "ALERT":
		i.keys[e.AlertKey] = true
		reply(w, 202, "")
	case e.EventType == "RESOLVE":
		delete(i.keys, e.AlertKey)
		reply(w, 202, "")
	default:
		reply(w, 400, `{"status":400,"message":"eventType"}`)
	}
}

// TestIlertRetries checks the section about errors in the document: 400 must not be sent again, 429 and 5xx must.
func TestIlertRetries(t *testing.T) {
	for status, permanent := range map[int]bool{400: true, 429: false, 500: false} {
		l := newLine(t, "ilert", nil)
		l.receiver = fixed{answer{status: status}}
		if err := l.try(l.alert(channels.Down)); err == nil || channels.IsPermanent(err) != permanent {
			t.Errorf("%d: %v", status, err)
		}
	}
}
