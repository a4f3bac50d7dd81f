package services_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
)

func githubMarker() string {
	text := issueText()
	return strings.Fields(text[strings.LastIndex(text, "`rollcall")+1:])[0]
}

func githubSample() sample {
	header := values{"Authorization": "Bearer s3cr3tX"}
	query := url.Values{"per_page": {"1"}, "q": {`repo:example/ops is:issue is:open in:body "` + githubMarker() + `"`}}
	return sample{
		settings: values{"repository": "example/ops", "token": "s3cr3tX", "labels": "alert, rollcall"},
		answers: []answer{{status: 200, body: `[]`}, {status: 200, body: `{"total_count":0,"incomplete_results":false,"items":[]}`},
			{status: 201, body: `{"number":7,"state":"open"}`}},
		want: []request{
			{"GET", "https://api.github.com/repos/example/ops/issues?state=open&sort=created&direction=desc&per_page=5", header, ""},
			{"GET", "https://api.github.com/search/issues?" + query.Encode(), header, ""},
			{"POST", "https://api.github.com/repos/example/ops/issues", header,
				raw(`{"title":"` + title + `","body":"` + issueText() + `","labels":["alert","rollcall"]}`)},
		},
	}
}

// githubReceiver has the rules of https://docs.github.com/en/rest/issues/issues, /rest/issues/comments and
// /rest/search/search for a private repository. A deleted issue answers 410. Search finds an issue only after a while.
type githubReceiver struct{ trackedIssues }

func newGithubReceiver(failer) incidentServer { return &githubReceiver{} }

// searchDelay is after how many requests the search finds a new issue.
const searchDelay = 4

func (g *githubReceiver) openOther() {
	g.trackedIssues = append(g.trackedIssues, &tracked{number: int64(len(g.trackedIssues) + 1), state: "open", title: "other", text: "other"})
}

func githubDocument(i *tracked) map[string]any {
	return map[string]any{"number": i.number, "state": i.state, "title": i.title, "body": i.text, "labels": i.labels}
}

func (g *githubReceiver) answer(w http.ResponseWriter, r *http.Request) {
	document := func(status int, value any) {
		body, _ := json.Marshal(value)
		reply(w, status, string(body))
	}
	refuse := func(status int, text string) { document(status, map[string]string{"message": text}) }
	for _, one := range g.trackedIssues {
		one.age++
	}
	if r.URL.Host != "api.github.com" || r.Header.Get("User-Agent") == "" || r.Header.Get("Accept") != "application/vnd.github+json" {
		refuse(400, "bad request")
		return
	}
	if r.Header.Get("Authorization") != "Bearer s3cr3tX" {
		refuse(401, "Bad credentials")
		return
	}
	if r.URL.Path == "/search/issues" && r.Method == http.MethodGet {
		g.search(r.URL.Query().Get("q"), document)
		return
	}
	path, known := strings.CutPrefix(r.URL.Path, "/repos/example/ops/issues")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var fields struct {
		Title  string   `json:"title"`
		Body   *string  `json:"body"`
		Labels []string `json:"labels"`
		State  string   `json:"state"`
		Reason string   `json:"state_reason"`
	}
	if known && r.Method != http.MethodGet && decode(r, &fields) != nil {
		refuse(400, "Problems parsing JSON")
		return
	}
	one := g.find(parts[0])
	switch {
	case !known:
		refuse(404, "Not Found")
	case path == "" && r.Method == http.MethodGet:
		limit, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		list := []any{map[string]any{"number": 900, "state": "open", "body": "a pull request", "pull_request": map[string]any{}}}
		for _, one := range newestFirst(g.trackedIssues, func(i *tracked) bool { return i.state == "open" }) {
			list = append(list, githubDocument(one))
		}
		document(200, list[:min(limit, len(list))])
	case path == "" && r.Method == http.MethodPost:
		if fields.Title == "" || utf8.RuneCountInString(fields.Title) > 256 || fields.Body == nil || utf8.RuneCountInString(*fields.Body) > 65536 {
			refuse(422, "Validation Failed")
			return
		}
		one := &tracked{number: int64(len(g.trackedIssues) + 1), state: "open", title: fields.Title, text: *fields.Body, labels: fields.Labels}
		g.trackedIssues = append(g.trackedIssues, one)
		document(201, githubDocument(one))
	case one == nil:
		refuse(404, "Not Found")
	case one.deleted:
		refuse(410, "This issue was deleted")
	case len(parts) == 1 && r.Method == http.MethodGet:
		document(200, githubDocument(one))
	case len(parts) == 1 && r.Method == http.MethodPatch:
		if fields.State != "closed" || fields.Reason != "completed" {
			refuse(422, "Validation Failed")
			return
		}
		one.state = "closed"
		document(200, githubDocument(one))
	case len(parts) == 2 && parts[1] == "comments" && r.Method == http.MethodPost && fields.Body != nil && *fields.Body != "":
		one.comments = append(one.comments, *fields.Body)
		document(201, map[string]any{"id": 1000 + len(one.comments)})
	default:
		refuse(422, "Validation Failed")
	}
}

func (g *githubReceiver) search(query string, document func(int, any)) {
	marker, isQuery := strings.CutPrefix(query, `repo:example/ops is:issue is:open in:body "`)
	if !isQuery {
		document(422, map[string]string{"message": "Validation Failed"})
		return
	}
	marker = strings.TrimSuffix(marker, `"`)
	items := []any{}
	for _, one := range newestFirst(g.trackedIssues, func(i *tracked) bool {
		return i.state == "open" && i.age >= searchDelay && strings.Contains(i.text, marker)
	}) {
		items = append(items, githubDocument(one))
	}
	document(200, map[string]any{"total_count": len(items), "incomplete_results": false, "items": items[:min(1, len(items))]})
}

// TestGithubLimits checks the pauses of https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api.
func TestGithubLimits(t *testing.T) {
	tests := []struct {
		status int
		header values
		want   time.Duration
	}{
		{403, values{"Retry-After": "30"}, 30 * time.Second},
		{429, values{"Retry-After": "31"}, 31 * time.Second},
		{403, values{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000060"}, time.Minute},
		{429, values{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000060"}, time.Minute},
		{403, values{"X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "1800000060"}, 0},
		{403, nil, 0},
	}
	for _, tt := range tests {
		s := pretend(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range tt.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(tt.status)
		})
		err := s.send("github", githubSample().settings, down())
		if delay, _ := channels.RetryDelay(err); err == nil || delay != tt.want || channels.IsPermanent(err) {
			t.Errorf("%d %v: pause %v, %v", tt.status, tt.header, delay, err)
		}
	}
}

// TestGithubLongList has issues whose texts do not fit into the answer that the client reads.
func TestGithubLongList(t *testing.T) {
	l, issues := issueLine(t, "github")
	n := l.alert(channels.Down)
	l.deliver(n)
	for range 3 {
		l.receiver.(*githubReceiver).openOther()
		issues()[len(issues())-1].text = strings.Repeat("x", 60_000)
	}
	issues()[0].age = searchDelay
	l.open = ""
	l.deliver(n)
	if l.open != "1" {
		t.Errorf("the line remembers %q", l.open)
	}
}

// TestGithubEnterprise has a server of one's own.
func TestGithubEnterprise(t *testing.T) {
	var got []string
	s := pretend(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, fmt.Sprint(r.URL.Scheme, "://", r.URL.Host, r.URL.Path))
		w.WriteHeader(500)
	})
	settings := githubSample().settings
	settings["api_url"] = "https://github.example.org/api/v3"
	if err := s.send("github", settings, down()); err == nil || got[0] != "https://github.example.org/api/v3/repos/example/ops/issues" {
		t.Error(err, got)
	}
}
