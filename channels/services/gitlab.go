package services

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

func gitlabService() service {
	return service{
		info: channels.Type{
			Kind: "gitlab", Title: "GitLab issues", Category: channels.CategoryOnCall,
			Doc: "Opens an issue on GitLab when a check goes down, comments on it at reminders, and closes it when the check " +
				"goes up again. An issue that a person closed stays closed; the next alert opens another one. Everyone who can " +
				"read the issues of the project sees the alerts, with the end of the output of the job.",
			Setup: "In GitLab: Settings > Access tokens of the project, or Access tokens in the preferences of a user. Choose the scope " +
				"api and, for the project, a role that may close issues.",
			Settings: []channels.Setting{
				required("project", "The project: its path, such as example/operations, or its ID.",
					pattern(`\d{1,20}|[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+`, "is neither a path, such as example/operations, nor an ID")),
				secret("token", "An access token with the scope api, of a user or of the project.", token),
				optional("labels", "Labels of the issue, separated by commas.", each(text)),
				withDefault(choice("confidential", "yes hides the issue from people who are no members of the project.", "yes", "no"), "no"),
				withDefault(address(optional("server_url", "The URL of the server.", serverWithout("/api/v4"))), "https://gitlab.com"),
			},
		},
		incidents: true,
		send:      func(ctx context.Context, m *delivery) error { return m.report(ctx, gitlab{m}) },
	}
}

// gitlab has the issues of a project on GitLab.
type gitlab struct{ *delivery }

// gitlabIssue is the part of an issue that matters here.
type gitlabIssue struct {
	Number      int64  `json:"iid"`
	State       string `json:"state"`
	Description string `json:"description"`
}

func (g gitlab) call(ctx context.Context, method, query string, body any, path ...string) ([]byte, error) {
	base := join(g.settings["server_url"], append([]string{"api", "v4", "projects", g.settings["project"], "issues"}, path...)...)
	return g.do(ctx, request{method: method, url: base + query, json: body,
		header: map[string]string{"PRIVATE-TOKEN": g.settings["token"]}})
}

// isOpen asks for the issue. 404 can also mean that the token may not read the project, which the next request reports.
func (g gitlab) isOpen(ctx context.Context, number string) (bool, error) {
	body, err := g.call(ctx, http.MethodGet, "", nil, number)
	if hasStatus(err, http.StatusNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var i gitlabIssue
	if json.Unmarshal(body, &i) != nil || i.State == "" {
		return false, errAnswer
	}
	return i.State == "opened", nil
}

func (g gitlab) find(ctx context.Context, marker string) (issue, error) {
	query := url.Values{"state": {"opened"}, "in": {"description"}, "search": {marker}, "per_page": {"1"}}
	body, err := g.call(ctx, http.MethodGet, "?"+query.Encode(), nil)
	if err != nil {
		return issue{}, err
	}
	var issues []gitlabIssue
	if json.Unmarshal(body, &issues) != nil || issues == nil {
		return issue{}, errAnswer
	}
	for _, i := range issues {
		if i.State == "opened" && strings.Contains(i.Description, marker) {
			return issue{number: issueNumber(i.Number), text: i.Description}, nil
		}
	}
	return issue{}, nil
}

func (g gitlab) create(ctx context.Context, title, text string) (string, error) {
	body := map[string]any{
		"title": title, "description": text, "labels": strings.Join(list(g.settings["labels"]), ","),
		"confidential": g.settings["confidential"] == "yes",
	}
	answer, err := g.call(ctx, http.MethodPost, "", body)
	if err != nil {
		return "", err
	}
	var i gitlabIssue
	if json.Unmarshal(answer, &i) != nil || issueNumber(i.Number) == "" {
		return "", errAnswer
	}
	return issueNumber(i.Number), nil
}

func (g gitlab) comment(ctx context.Context, number, text string) error {
	answer, err := g.call(ctx, http.MethodPost, "", map[string]string{"body": text}, number, "notes")
	if err != nil {
		return err
	}
	var note struct {
		ID int64 `json:"id"`
	}
	if json.Unmarshal(answer, &note) != nil || note.ID == 0 {
		return errAnswer
	}
	return nil
}

func (g gitlab) close(ctx context.Context, number string) error {
	answer, err := g.call(ctx, http.MethodPut, "", map[string]string{"state_event": "close"}, number)
	if err != nil {
		return err
	}
	var i gitlabIssue
	if json.Unmarshal(answer, &i) != nil || i.State != "closed" {
		return errAnswer
	}
	return nil
}
