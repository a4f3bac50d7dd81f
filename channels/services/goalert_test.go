package services_test

import (
	"net/http"
	"net/url"
)

func goalertSample() sample {
	return sample{
		settings: values{"server_url": "https://goalert.example.org/sub/", "token": "s3cr3tX-1"},
		answers:  []answer{{status: 204}},
		want: []request{{"POST", "https://goalert.example.org/sub/api/v2/generic/incoming", values{}, url.Values{
			"token": {"s3cr3tX-1"}, "dedup": {noID}, "summary": {title}, "details": {"```text\n" + unquote(body) + "\n```"},
		}}},
	}
}

// goalertReceiver has the rules of
// https://github.com/target/goalert/blob/master/web/src/app/documentation/sections/IntegrationKeys.md and of the handler,
// https://github.com/target/goalert/blob/master/genericapi/handler.go. It cuts texts itself.
type goalertReceiver struct{ keys }

func newGoAlertReceiver(failer) incidentServer { return goalertReceiver{keys{}} }

func (g goalertReceiver) answer(w http.ResponseWriter, r *http.Request) {
	address := *r.URL
	switch {
	case r.Method != http.MethodPost || address.String() != "https://goalert.example.org/sub/api/v2/generic/incoming":
		reply(w, 404, "404 page not found\n")
	case r.FormValue("token") != "s3cr3tX-1":
		reply(w, 401, "Unauthorized\n")
	case r.FormValue("summary") == "": // also if it closes
		reply(w, 400, "invalid value for 'Summary': must not be empty\n")
	case r.FormValue("action") == "close":
		delete(g.keys, r.FormValue("dedup"))
		w.WriteHeader(204)
	default:
		g.keys[r.FormValue("dedup")] = true
		w.WriteHeader(204)
	}
}
