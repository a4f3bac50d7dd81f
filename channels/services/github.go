package services

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

func githubService() service {
	return service{
		info: channels.Type{
			Kind: "github", Title: "GitHub issues", Category: channels.CategoryOnCall,
			Doc: "Opens an issue on GitHub when a check goes down, comments on it at reminders, and closes it when the check " +
				"goes up again. An issue that a person closed stays closed; the next alert opens another one. Everyone who can " +
				"read the repository sees the alerts, with the end of the output of the job.",
			Setup: "In GitHub: Settings > Developer settings > Personal access tokens > Fine-grained tokens. Choose the repository, and " +
				"give the token the permission Issues with read and write access.",
			Settings: []channels.Setting{
				required("repository", "The repository, such as example/operations.",
					pattern(`[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}`, "is not a repository, such as example/operations")),
				secret("token", "A token that may read and write issues of the repository.", token),
				optional("labels", "Labels of the issue, separated by commas.", each(text)),
				withDefault(address(optional("api_url",
					"The URL of the API. That of GitHub Enterprise Server is https://HOST/api/v3.", server)), "https://api.github.com"),
			},
		},
		incidents: true,
		send:      func(ctx context.Context, m *delivery) error { return m.report(ctx, github{m}) },
	}
}

// github has the issues of a repository on GitHub.
type github struct{ *delivery }

// githubIssue is the part of an issue that matters here.
type githubIssue struct {
	Number int64           `json:"number"`
	State  string          `json:"state"`
	Body   string          `json:"body"`
	Pull   json.RawMessage `json:"pull_request"`
}

func (g github) call(ctx context.Context, method string, body any, path ...string) (*http.Response, []byte, error) {
	owner, name, _ := strings.Cut(g.settings["repository"], "/")
	return g.callAt(ctx, method, join(g.settings["api_url"], append([]string{"repos", owner, name, "issues"}, path...)...), body)
}

func (g github) callAt(ctx context.Context, method, address string, body any) (*http.Response, []byte, error) {
	res, answer, err := g.fetch(ctx, request{method: method, url: address, json: body, header: map[string]string{
		"Accept":               "application/vnd.github+json",
		"Authorization":        bearer(g.settings["token"]),
		"X-GitHub-Api-Version": "2022-11-28",
	}})
	return res, answer, g.rateLimit(res, err)
}

// rateLimit adds the pause that the headers of GitHub ask for. A status 403 can be a rate limit, too.
func (g github) rateLimit(res *http.Response, err error) error {
	if !hasStatus(err, http.StatusForbidden, http.StatusTooManyRequests) {
		return err
	}
	if _, marked := channels.RetryDelay(err); marked {
		return err
	}
	if seconds, bad := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 32); bad == nil && seconds > 0 {
		return channels.RetryAfter(err, min(time.Duration(seconds)*time.Second, 24*time.Hour))
	}
	reset, bad := strconv.ParseInt(res.Header.Get("X-RateLimit-Reset"), 10, 64)
	if bad == nil && res.Header.Get("X-RateLimit-Remaining") == "0" {
		if after := time.Unix(reset, 0).Sub(g.now()); after > 0 {
			return channels.RetryAfter(err, min(after, 24*time.Hour))
		}
	}
	return err
}

// isOpen asks for the issue. 410 means that it was deleted, 404 that it was deleted or moved, or that the token may not
// read the repository, which the next request reports.
func (g github) isOpen(ctx context.Context, number string) (bool, error) {
	_, body, err := g.call(ctx, http.MethodGet, nil, number)
	if hasStatus(err, http.StatusGone, http.StatusNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var i githubIssue
	if json.Unmarshal(body, &i) != nil || i.State == "" {
		return false, errAnswer
	}
	return i.State == "open", nil
}

// newest is how many of the newest issues find reads itself, because the search of GitHub knows an issue only after a
// while. More would not fit into the answer.
const newest = 5

func (g github) find(ctx context.Context, marker string) (issue, error) {
	address := "?state=open&sort=created&direction=desc&per_page=" + strconv.Itoa(newest)
	owner, name, _ := strings.Cut(g.settings["repository"], "/")
	_, body, err := g.callAt(ctx, http.MethodGet, join(g.settings["api_url"], "repos", owner, name, "issues")+address, nil)
	if err != nil {
		return issue{}, err
	}
	found, isList := firstIssue(body, marker)
	if !isList {
		return issue{}, errAnswer
	}
	if found.number != "" {
		return found, nil
	}
	query := url.Values{"per_page": {"1"}, "q": {`repo:` + g.settings["repository"] + ` is:issue is:open in:body "` + marker + `"`}}
	_, body, err = g.callAt(ctx, http.MethodGet, join(g.settings["api_url"], "search", "issues")+"?"+query.Encode(), nil)
	if err != nil {
		return issue{}, err
	}
	var result struct {
		Items *json.RawMessage `json:"items"`
	}
	if json.Unmarshal(body, &result) != nil || result.Items == nil {
		return issue{}, errAnswer
	}
	found, _ = firstIssue(*result.Items, marker)
	return found, nil
}

// firstIssue returns the first open issue of a list that has the marker. The list may be cut off; isList is false if it
// is none at all.
func firstIssue(list []byte, marker string) (found issue, isList bool) {
	decoder := json.NewDecoder(bytes.NewReader(list))
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return issue{}, false
	}
	for decoder.More() {
		var i githubIssue
		if decoder.Decode(&i) != nil {
			break
		}
		if i.State == "open" && i.Pull == nil && strings.Contains(i.Body, marker) {
			return issue{number: issueNumber(i.Number), text: i.Body}, true
		}
	}
	return issue{}, true
}

func (g github) create(ctx context.Context, title, text string) (string, error) {
	body := map[string]any{"title": title, "body": text}
	if labels := list(g.settings["labels"]); len(labels) > 0 {
		body["labels"] = labels
	}
	_, answer, err := g.call(ctx, http.MethodPost, body)
	if err != nil {
		return "", err
	}
	var i githubIssue
	if json.Unmarshal(answer, &i) != nil || issueNumber(i.Number) == "" {
		return "", errAnswer
	}
	return issueNumber(i.Number), nil
}

func (g github) comment(ctx context.Context, number, text string) error {
	_, answer, err := g.call(ctx, http.MethodPost, map[string]string{"body": text}, number, "comments")
	if err != nil {
		return err
	}
	var comment struct {
		ID int64 `json:"id"`
	}
	if json.Unmarshal(answer, &comment) != nil || comment.ID == 0 {
		return errAnswer
	}
	return nil
}

func (g github) close(ctx context.Context, number string) error {
	_, answer, err := g.call(ctx, http.MethodPatch, map[string]string{"state": "closed", "state_reason": "completed"}, number)
	if err != nil {
		return err
	}
	var i githubIssue
	if json.Unmarshal(answer, &i) != nil || i.State != "closed" {
		return errAnswer
	}
	return nil
}
