package services

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

func appriseService() service {
	return service{
		info: channels.Type{
			Kind: "apprise", Title: "Apprise", Category: channels.CategoryCustom,
			Doc: "Notifies through an Apprise API server, which knows over a hundred services: the URLs of the channel, or " +
				"those that the server keeps under a key. With a key, a retry notifies all of them again.",
			Setup: "You run the Apprise API server yourself. Its documentation says how the URL of each service is written, such as " +
				"tgram://TOKEN/CHAT.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the Apprise API server.", serverWithout("/notify"))),
				appriseURLs(),
				optional("key", "The key of a configuration on the server.",
					pattern(`[\w-]{1,128}`, "is not 1 to 128 letters, digits, _ and -")),
				optional("tags", "With key, the tags to notify: a comma means or, a space means and. Everything by default.",
					pattern(`[\w, -]{1,200}`, "is not 1 to 200 letters, digits, _, -, commas and spaces")),
				optional("username", "The user name, if a proxy in front of the server asks for one.", user),
				notRequired(secret("password", "The password.", nil)),
			},
			Check: checkApprise,
		},
		send: func(ctx context.Context, m *delivery) error {
			if key := m.settings["key"]; key != "" {
				tags := cmp.Or(m.settings["tags"], "all") // without tags the server leaves out URLs that have some
				return sendApprise(ctx, m, "notify/"+key, map[string]any{"tag": tags})
			}
			urls := make(map[string]string) // by a name that hides their secrets
			var names []string
			for _, u := range strings.Fields(m.settings["urls"]) {
				sum := sha256.Sum256([]byte(u))
				name := hex.EncodeToString(sum[:8])
				if urls[name] == "" {
					names = append(names, name)
				}
				urls[name] = u
			}
			if len(names) == 0 {
				return errors.New("urls is empty")
			}
			return channels.Each(m.n, names, func(name string) error {
				return sendApprise(ctx, m, "notify", map[string]any{"urls": []string{urls[name]}})
			})
		},
	}
}

func appriseURLs() channels.Setting {
	s := notRequired(secret("urls", "Apprise URLs such as mailto://user:password@example.org, one a line.", func(value string) error {
		urls := strings.Fields(value)
		if len(urls) == 0 || len(urls) > 20 {
			return errors.New("is not a list of 1 to 20 URLs")
		}
		for _, u := range urls {
			if !strings.Contains(u, "://") {
				return errors.New("has an item that is not a URL")
			}
		}
		return nil
	}))
	s.Lines = true
	return primary(s)
}

func checkApprise(settings map[string]string) *channels.SettingError {
	switch {
	case settings["urls"] == "" && settings["key"] == "":
		return &channels.SettingError{Setting: "urls", Reason: "and key are both missing"}
	case settings["urls"] != "" && settings["key"] != "":
		return conflict("urls", "key")
	case settings["tags"] != "" && settings["key"] == "":
		return missing("key", "tags")
	}
	return tokenOrPassword(settings)
}

// sendApprise makes one request with the message and the given fields.
func sendApprise(ctx context.Context, m *delivery, path string, body map[string]any) error {
	body["title"], body["body"], body["format"], body["type"] = m.title, m.text, "text", "failure"
	switch {
	case m.isUp():
		body["type"] = "success"
	case !m.n.Over.IsZero():
		body["type"] = "warning"
	}
	header := m.authorize(map[string]string{"Accept": "application/json"})
	res, answer, err := m.fetch(ctx, request{url: join(m.settings["server_url"]) + "/" + path, header: header, json: body})
	switch {
	case err != nil:
		return m.explainApprise(err, answer)
	case res.StatusCode == http.StatusNoContent && body["urls"] != nil:
		return channels.Permanent(errors.New("the server does not accept the Apprise URL"))
	case res.StatusCode == http.StatusNoContent:
		return errors.New("the server has no configuration with this key")
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		var result map[string]any
		err := json.Unmarshal(answer, &result)
		if text, found := result["error"]; err == nil && found && text == nil {
			return nil
		}
	case "text/plain": // the log of an older server
		return nil
	}
	return errAnswer
}

// explainApprise replaces the log in an answer with status 424 by its lines about what failed. The log is an array of levels,
// times and messages, or lines of text from older servers.
func (m *delivery) explainApprise(err error, answer []byte) error {
	status, found := errors.AsType[*outbound.StatusError](err)
	if !found || status.Status != http.StatusFailedDependency {
		return err
	}
	var result struct {
		Error   string
		Details [][]string
	}
	var causes []string
	add := func(level, text string) {
		text = strings.TrimSpace(text)
		if strings.Contains("WARNING ERROR CRITICAL", level) && level != "" && text != "" && !slices.Contains(causes, text) {
			causes = append(causes, text)
		}
	}
	if json.Unmarshal(answer, &result) == nil {
		for _, d := range result.Details {
			if len(d) == 3 {
				add(d[0], d[2])
			}
		}
	} else {
		for _, line := range appriseLine.FindAllSubmatch(answer, -1) {
			add(string(line[1]), html.UnescapeString(string(line[2])))
		}
	}
	if text := cmp.Or(strings.Join(causes, "; "), result.Error); text != "" {
		return fmt.Errorf("the Apprise server could not notify: %s", prose.Line(channels.Redact(text, m.secrets...), 300))
	}
	return err
}

// appriseLine matches a line of the log of an older server.
var appriseLine = regexp.MustCompile(`(WARNING|ERROR|CRITICAL)(?: -|[:\s]|<[^>]*>)(?:\s|<[^>]*>)*([^\n<]+)`)
