package services_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func gitlabSample() sample {
	query := url.Values{"state": {"opened"}, "in": {"description"}, "search": {githubMarker()}, "per_page": {"1"}}
	const issues = "https://gitlab.example.org/sub/api/v4/projects/example%2Fgroup%2Fops/issues"
	return sample{
		settings: values{"project": "example/group/ops", "token": "s3cr3tX", "labels": "alert, rollcall", "server_url": "https://gitlab.example.org/sub"},
		answers:  []answer{{status: 200, body: `[]`}, {status: 201, body: `{"id":1,"iid":7,"state":"opened"}`}},
		want: []request{
			{"GET", issues + "?" + query.Encode(), values{}, ""},
			{"POST", issues, values{}, raw(`{"title":"` + title + `","description":"` + issueText() + `","labels":"alert,rollcall","confidential":false}`)},
		},
	}
}

// gitlabReceiver has the rules of https://docs.gitlab.com/api/issues/ and https://docs.gitlab.com/api/notes/ for a
// private project.
type gitlabReceiver struct{ trackedIssues }

func newGitlabReceiver(failer) incidentServer { return &gitlabReceiver{} }

func (g *gitlabReceiver) openOther() {
	g.trackedIssues = append(g.trackedIssues, &tracked{number: int64(len(g.trackedIssues) + 1), state: "opened", title: "other", text: "other"})
}

func gitlabDocument(i *tracked) map[string]any {
	return map[string]any{"id": 1000 + i.number, "iid": i.number, "state": i.state, "title": i.title, "description": i.text}
}

func (g *gitlabReceiver) answer(w http.ResponseWriter, r *http.Request) {
	document := func(status int, value any) {
		body, _ := json.Marshal(value)
		reply(w, status, string(body))
	}
	refuse := func(status int, text string) { document(status, map[string]string{"message": text}) }
	if r.Header.Get("PRIVATE-TOKEN") != "s3cr3tX" {
		refuse(401, "401 Unauthorized")
		return
	}
	path, known := strings.CutPrefix(r.URL.EscapedPath(), "/sub/api/v4/projects/example%2Fgroup%2Fops/issues")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var fields struct {
		Title        string `json:"title"`
		Description  string `json:"description"`
		Labels       string `json:"labels"`
		Confidential *bool  `json:"confidential"`
		Event        string `json:"state_event"`
		Body         string `json:"body"`
	}
	if known && r.Method != http.MethodGet && decode(r, &fields) != nil {
		refuse(400, "400 Bad request")
		return
	}
	one := g.find(parts[0])
	switch {
	case !known || r.URL.Host != "gitlab.example.org":
		refuse(404, "404 Project Not Found")
	case path == "" && r.Method == http.MethodGet:
		query := r.URL.Query()
		if query.Get("state") != "opened" || query.Get("in") != "description" {
			refuse(400, "400 Bad request")
			return
		}
		limit, _ := strconv.Atoi(query.Get("per_page"))
		list := []any{}
		for _, one := range newestFirst(g.trackedIssues, func(i *tracked) bool {
			return i.state == "opened" && strings.Contains(i.text, query.Get("search"))
		}) {
			list = append(list, gitlabDocument(one))
		}
		document(200, list[:min(limit, len(list))])
	case path == "" && r.Method == http.MethodPost:
		if fields.Title == "" || utf8.RuneCountInString(fields.Title) > 255 || utf8.RuneCountInString(fields.Description) > 1_048_576 {
			refuse(400, "400 Bad request - Title is too long (maximum is 255 characters)")
			return
		}
		one := &tracked{number: int64(len(g.trackedIssues) + 1), state: "opened", title: fields.Title, text: fields.Description, labels: *fields.Confidential}
		g.trackedIssues = append(g.trackedIssues, one)
		document(201, gitlabDocument(one))
	case one == nil || one.deleted:
		refuse(404, "404 Not found")
	case len(parts) == 1 && r.Method == http.MethodGet:
		document(200, gitlabDocument(one))
	case len(parts) == 1 && r.Method == http.MethodPut && fields.Event == "close":
		one.state = "closed"
		document(200, gitlabDocument(one))
	case len(parts) == 2 && parts[1] == "notes" && r.Method == http.MethodPost && fields.Body != "":
		one.comments = append(one.comments, fields.Body)
		document(201, map[string]any{"id": 1000 + len(one.comments)})
	default:
		refuse(400, "400 Bad request")
	}
}

// TestGitlabConfidential hides the issue.
func TestGitlabConfidential(t *testing.T) {
	l := newLine(t, "gitlab", values{"confidential": "yes"})
	l.deliver(l.alert(channels.Down))
	if diff := cmp.Diff(any(true), l.receiver.(trackingReceiver).all()[0].labels); diff != "" {
		t.Error(diff)
	}
}
