package services_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

func splunkoncallSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX-5cad-44e7-afb0-97c20ea80dd8", "routing_key": "data base"},
		answers:  ok(`{"result":"success","entity_id":"` + noID + `"}`),
		want: []request{{"POST", "https://alert.victorops.com/integrations/generic/20131114/alert/s3cr3tX-5cad-44e7-afb0-97c20ea80dd8/data%20base", values{},
			raw(`{"message_type":"CRITICAL","entity_id":"` + noID + `","entity_display_name":"` + title + `","state_message":"` + body + `",
				"state_start_time":1773547200,"monitoring_tool":"Rollcall","vo_annotate.u.Check":"https://rollcall.example.org/c/1"}`)}},
	}
}

// splunkReceiver has the rules of https://help.victorops.com/knowledge-base/rest-endpoint-integration-guide/ and of
// https://help.victorops.com/knowledge-base/incident-fields-glossary/.
type splunkReceiver struct{ keys }

func newSplunkReceiver(failer) incidentServer { return splunkReceiver{keys{}} }

func (s splunkReceiver) answer(w http.ResponseWriter, r *http.Request) {
	fail := func(reason string) { reply(w, 200, fmt.Sprintf(`{"result":"failure","message":%q}`, reason)) }
	path, known := strings.CutPrefix(r.URL.Path, "/integrations/generic/20131114/alert/")
	var e map[string]any
	switch err := json.NewDecoder(r.Body).Decode(&e); {
	case r.Method != http.MethodPost || r.URL.Host != "alert.victorops.com" || !known:
		reply(w, 404, "")
		return
	case path != "s3cr3tX-5cad-44e7-afb0-97c20ea80dd8/data base":
		reply(w, 404, "")
		return
	case err != nil:
		fail("not JSON")
		return
	}
	id, _ := e["entity_id"].(string)
	state, _ := e["state_message"].(string)
	start, isNumber := e["state_start_time"].(float64)
	switch {
	case id == "" || utf8.RuneCountInString(id) > 512 || utf8.RuneCountInString(state) > 20480 || !isNumber || start <= 0:
		fail("field out of range")
		return
	case e["message_type"] == "CRITICAL":
		s.keys[id] = true
	case e["message_type"] == "RECOVERY":
		delete(s.keys, id)
	default:
		fail("message_type")
		return
	}
	reply(w, 200, fmt.Sprintf(`{"result":"success","entity_id":%q}`, id))
}
