package services_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
)

func opsgenieSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX", "tags": "a, b"},
		answers:  []answer{{status: 202, body: `{"result":"Request will be processed","took":0.302,"requestId":"43a29c5c"}`}},
		want: []request{{"POST", "https://api.opsgenie.com/v2/alerts", values{"Authorization": "GenieKey s3cr3tX"},
			raw(`{"message":"` + title + `","description":"` + body + `","alias":"` + noID + `","source":"Rollcall","entity":"backup",
				"priority":"P3","tags":["a","b"]}`)}},
	}
}

// genieReceiver has the rules of https://docs.opsgenie.com/docs/alert-api (create and close alert) and of
// https://docs.opsgenie.com/docs/response. Those of Jira Service Management are the same:
// https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v1/api-group-integration-events.
type genieReceiver struct {
	keys
	base string
}

func newOpsgenieReceiver(failer) incidentServer {
	return genieReceiver{keys{}, "https://api.opsgenie.com/v2/alerts"}
}

func (g genieReceiver) answer(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, reason string) {
		reply(w, status, fmt.Sprintf(`{"message":%q,"took":0.001,"requestId":"43a29c5c"}`, reason))
	}
	accept := func() { reply(w, 202, `{"result":"Request will be processed","took":0.302,"requestId":"43a29c5c"}`) }
	path, below := strings.CutPrefix(r.URL.String(), g.base)
	long := func(text string, limit int) bool { return utf8.RuneCountInString(text) > limit }
	var create struct {
		Message     string   `json:"message"`
		Alias       string   `json:"alias"`
		Description string   `json:"description"`
		Source      string   `json:"source"`
		Entity      string   `json:"entity"`
		Priority    string   `json:"priority"`
		Tags        []string `json:"tags"`
	}
	var closing struct {
		Source string `json:"source"`
		Note   string `json:"note"`
	}
	switch {
	case !below || r.Method != http.MethodPost:
		refuse(404, "handler not found")
	case r.Header.Get("Authorization") != "GenieKey s3cr3tX":
		refuse(401, "Could not authenticate")
	case path == "":
		switch err := decode(r, &create); {
		case err != nil:
			refuse(400, err.Error())
		case create.Message == "" || long(create.Message, 130) || create.Alias == "" || long(create.Alias, 512) ||
			long(create.Description, 15000) || long(create.Source, 100) || long(create.Entity, 512) || len(create.Tags) > 20 ||
			slices.ContainsFunc(create.Tags, func(tag string) bool { return long(tag, 50) }) ||
			!slices.Contains([]string{"P1", "P2", "P3", "P4", "P5"}, create.Priority):
			refuse(422, "Request body is not processable. Please check the errors.")
		default:
			g.keys[create.Alias] = true
			accept()
		}
	default:
		u, _ := url.Parse(path)
		alias, isClose := strings.CutSuffix(strings.TrimPrefix(u.Path, "/"), "/close")
		switch err := decode(r, &closing); {
		case !isClose || u.Query().Get("identifierType") != "alias":
			refuse(404, "Alert does not exist")
		case err != nil || long(closing.Source, 100) || long(closing.Note, 25000):
			refuse(422, "Request body is not processable. Please check the errors.")
		default: // it is processed later, whether there is such an alert or not
			delete(g.keys, alias)
			accept()
		}
	}
}

// TestOpsgenieTags uses tags that are longer than Opsgenie accepts.
func TestOpsgenieTags(t *testing.T) {
	for _, kind := range []channels.Kind{"opsgenie", "jsm"} {
		l := newLine(t, kind, values{"tags": strings.Repeat("ž", 60) + ",b"})
		l.deliver(l.alert(channels.Down))
		l.expect("down", 1)
	}
}

// TestOpsgenieAnswers checks answers by the document: 422 is an error in the content, and 404 at a close says that there
// is no such alert.
func TestOpsgenieAnswers(t *testing.T) {
	tests := []struct {
		status    channels.Status
		answer    answer
		permanent bool
		failed    bool
	}{
		{channels.Down, answer{status: 422}, true, true},
		{channels.Down, answer{status: 404}, false, true},
		{channels.Up, answer{status: 404}, false, false},
		{channels.Down, answer{status: 202, body: `{}`}, false, true},
		{channels.Down, answer{status: 200, body: `{"requestId":"1"}`}, false, true},
	}
	for _, kind := range []channels.Kind{"opsgenie", "jsm"} {
		for _, tt := range tests {
			l := newLine(t, kind, nil)
			l.receiver = fixed{tt.answer}
			err := l.try(l.alert(tt.status))
			if (err != nil) != tt.failed || channels.IsPermanent(err) != tt.permanent {
				t.Errorf("%s %v: %v", tt.status, tt.answer, err)
			}
		}
	}
}
