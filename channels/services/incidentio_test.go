package services_test

import (
	"fmt"
	"net/http"
)

func incidentioSample() sample {
	return sample{
		settings: values{"source_id": "01GW2G3V0S59R238FAHPDS1R66", "token": "s3cr3tX"},
		answers:  []answer{{status: 202, body: `{"deduplication_key":"` + noID + `","message":"Event accepted for processing","status":"success"}`}},
		want: []request{{"POST", "https://api.incident.io/v2/alert_events/http/01GW2G3V0S59R238FAHPDS1R66", values{"Authorization": "Bearer s3cr3tX"},
			raw(`{"title":"` + title + `","description":"` + "```text\\n" + body + "\\n```" + `","deduplication_key":"` + noID + `","status":"firing",
				"source_url":"https://rollcall.example.org/c/1",
				"metadata":{"check":"nightly backup","slug":"backup","project":"","tags":[],"reason":"no ping in time"}}`)}},
	}
}

// incidentioReceiver has the rules of https://api-docs.incident.io/tag/Alert-Events-V2 (CreateHTTP).
type incidentioReceiver struct{ keys }

func newIncidentioReceiver(failer) incidentServer { return incidentioReceiver{keys{}} }

func (i incidentioReceiver) answer(w http.ResponseWriter, r *http.Request) {
	var e struct {
		Title       string         `json:"title"`
		Description string         `json:"description"`
		Key         string         `json:"deduplication_key"`
		Status      string         `json:"status"`
		URL         string         `json:"source_url"`
		Metadata    map[string]any `json:"metadata"`
	}
	switch err := decode(r, &e); {
	case r.Method != http.MethodPost || r.URL.String() != "https://api.incident.io/v2/alert_events/http/01GW2G3V0S59R238FAHPDS1R66":
		reply(w, 404, `{"type":"not_found","status":404,"errors":[{"code":"not_found","message":"Alert source not found"}]}`)
	case r.Header.Get("Authorization") != "Bearer s3cr3tX":
		reply(w, 401, `{"type":"authentication_error","status":401,"errors":[{"code":"invalid_token","message":"Invalid token"}]}`)
	case err != nil || e.Title == "" || e.Status != "firing" && e.Status != "resolved":
		reply(w, 422, `{"type":"validation_error","status":422,"errors":[{"code":"invalid_value","message":"title is required"}]}`)
	default:
		if e.Status == "firing" {
			i.keys[e.Key] = true
		} else {
			delete(i.keys, e.Key)
		}
		reply(w, 202, fmt.Sprintf(`{"deduplication_key":%q,"message":"Event accepted for processing","status":"success"}`, e.Key))
	}
}
