package services_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/services"
)

func appriseSample() sample {
	return sample{
		settings: values{"server_url": "http://apprise:8000/sub/", "urls": "mailto://me:s3cr3tX%2F@example.org"},
		answers:  []answer{{200, `{"error":null,"details":[]}`, values{"Content-Type": "application/json"}}},
		rules:    appriseRules,
		want: []request{{"POST", "http://apprise:8000/sub/notify", values{},
			raw(`{"urls":["mailto://me:s3cr3tX%2F@example.org"],"title":"` + title + `","body":"` + body + `",
				"format":"text","type":"failure"}`)}},
	}
}

// appriseRules are those of https://github.com/caronc/apprise-api/blob/master/README.md#api-details and
// apprise_api/api/views.py: the server knows the services mailto and json and the configuration "team", and answers 204
// where there is nothing to notify.
func appriseRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	kind, _ := fields["type"].(string)
	format, _ := fields["format"].(string)
	path := strings.TrimPrefix(r.URL.Path, "/sub")
	refuse := func(status int, text string) *answer {
		return &answer{status, fmt.Sprintf(`{"error":%q}`, text), values{"Content-Type": "application/json"}}
	}
	switch {
	case !isObject || fields["body"] == "":
		return refuse(400, "Payload lacks minimum requirements")
	case !strings.Contains(" info success warning failure ", " "+kind+" "):
		return refuse(400, "Payload lacks minimum requirements")
	case !strings.Contains(" text markdown html ", " "+format+" "):
		return refuse(400, "An invalid body input format was specified")
	case path == "/notify":
		urls, _ := fields["urls"].([]any)
		known := 0
		for _, u := range urls {
			if text, _ := u.(string); strings.HasPrefix(text, "mailto://") || strings.HasPrefix(text, "json://") {
				known++
			}
			if u == "json://away" {
				return refuse(424, "One or more notifications could not be sent")
			}
		}
		if known == 0 {
			return refuse(204, "")
		}
	case path == "/notify/team":
		if tag := fields["tag"]; tag != "all" && tag != "ops, night" { // no tag selects the URLs without tags, and there are none
			return refuse(424, "One or more notification could not be sent")
		}
	case strings.HasPrefix(path, "/notify/"):
		return refuse(204, "")
	default:
		return refuse(404, "not found")
	}
	return nil
}

func TestApprise(t *testing.T) {
	const server = "http://apprise:8000"
	late := down()
	late.Over = late.At.Add(time.Minute)
	tests := []struct {
		name      string
		settings  values
		n         channels.Notification
		kinds     []string // of the requests
		failed    bool
		permanent bool
		done      int
	}{
		{"down", values{"urls": "json://a\nmailto://b"}, down(), []string{"failure", "failure"}, false, false, 0},
		{"up", values{"urls": "json://a"}, up(), []string{"success"}, false, false, 0},
		{"recovered", values{"urls": "json://a"}, late, []string{"warning"}, false, false, 0},
		{"twice", values{"urls": "json://a json://a"}, up(), []string{"success"}, false, false, 0},
		{"one is away", values{"urls": "json://a\njson://away\njson://b"}, up(), []string{"success", "success", "success"}, true, false, 2},
		{"one is unknown", values{"urls": "nope://a\njson://b"}, up(), []string{"success", "success"}, true, true, 1},
		{"key", values{"key": "team"}, up(), []string{"success"}, false, false, 0},
		{"tags", values{"key": "team", "tags": "ops, night"}, up(), []string{"success"}, false, false, 0},
		{"no such tag", values{"key": "team", "tags": "day"}, up(), []string{"success"}, true, false, 0},
		{"no such key", values{"key": "nobody"}, up(), []string{"success"}, true, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveSample(t, appriseSample())
			tt.settings["server_url"] = server
			err := s.send("apprise", tt.settings, tt.n)
			var kinds []string
			for _, r := range s.got {
				kinds = append(kinds, r.Body.(map[string]any)["type"].(string))
			}
			if diff := cmp.Diff(tt.kinds, kinds); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != tt.failed || channels.IsPermanent(err) != tt.permanent || len(channels.Accepted(err)) != tt.done {
				t.Error(err, channels.Accepted(err))
			}
		})
	}
}

// TestAppriseRetry checks that a retry leaves out the URLs that were notified, and that their names hide them.
func TestAppriseRetry(t *testing.T) {
	s := serveSample(t, appriseSample())
	settings := values{"server_url": "http://h", "urls": "json://user:s3cr3tX@a\njson://away"}
	n := down()
	for range 2 {
		n.Done = channels.Accepted(s.send("apprise", settings, n))
	}
	if len(n.Done) != 1 || strings.Contains(n.Done[0], "s3cr3tX") || len(s.got) != 3 {
		t.Errorf("%v, %d requests", n.Done, len(s.got))
	}
}

func TestAppriseAnswers(t *testing.T) {
	asJSON := values{"Content-Type": "application/json"}
	testAnswers(t, appriseSample(), "apprise", []outcome{
		{"a page", answer{200, "<html>", values{"Content-Type": "text/html; charset=utf-8"}}, true, false, 0},
		{"an error", answer{200, `{"error":"x"}`, asJSON}, true, false, 0},
		{"other JSON", answer{200, `{}`, asJSON}, true, false, 0},
		{"a list", answer{200, `[]`, asJSON}, true, false, 0},
		{"the log of an older server", answer{200, "INFO - Sent", values{"Content-Type": "text/plain"}}, false, false, 0},
	})
}

func TestAppriseSettings(t *testing.T) {
	for _, tt := range []struct {
		settings values
		want     string
	}{
		{values{}, "apprise: urls and key are both missing"},
		{values{"urls": "json://a", "key": "k"}, "apprise: urls cannot be combined with key"},
		{values{"urls": "json://a", "tags": "t"}, "apprise: key is missing, tags needs it"},
		{values{"urls": "json://a", "password": "p"}, "apprise: username is missing, password needs it"},
		{values{"urls": "json"}, "apprise: urls has an item that is not a URL"},
		{values{"urls": strings.Repeat("a://b ", 21)}, "apprise: urls is not a list of 1 to 20 URLs"},
		{values{"key": "a/b"}, "apprise: key is not 1 to 128 letters, digits, _ and -"},
	} {
		tt.settings["server_url"] = "http://h"
		if _, err := channels.Validate(services.New(nil), "apprise", tt.settings, nil); fmt.Sprint(err) != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestAppriseCause has a URL fail. The error says why, and not what else the server has logged.
func TestAppriseCause(t *testing.T) {
	for name, tt := range map[string]struct{ contentType, answer, want string }{
		"json": {"application/json", `{"error":"One or more notification could not be sent.","details":[["INFO","2026-03-01 12:00:00,000","Loaded 1 entries from memory:// (asset)"],
			["WARNING","2026-03-01 12:00:01,000","Failed to send JSON POST notification: Forbidden, error=403."],["DEBUG","2026-03-01 12:00:01,000","Response Details: ..."]]}`,
			"the Apprise server could not notify: Failed to send JSON POST notification: Forbidden, error=403."},
		"no details": {"application/json", `{"error":"One or more notification could not be sent."}`, "the Apprise server could not notify: One or more notification could not be sent."},
		"text": {"text/plain", "2026-03-01 12:00:00,000 - DEBUG - Loaded\n2026-03-01 12:00:01,000 - WARNING - Failed to send: &quot;no route&quot;\n",
			`the Apprise server could not notify: Failed to send: "no route"`},
		"html": {"text/html", `<ul class="logs"><li class="log_info"><div class="log_level">INFO</div><div class="log_msg">Loaded</div></li>` +
			`<li class="log_warning"><div class="log_level">WARNING</div> <div class="log_msg">Failed to send</div></li></ul>`,
			"the Apprise server could not notify: Failed to send"},
		"unknown": {"text/plain", "away", "the receiver answered with status 424 Failed Dependency: away"},
	} {
		t.Run(name, func(t *testing.T) {
			s := pretend(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(http.StatusFailedDependency)
				fmt.Fprint(w, tt.answer)
			})
			err := s.send("apprise", values{"server_url": "http://apprise:8000", "key": "team"}, down())
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
