package webhook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

// texts are the placeholders whose values may have a quote or a line break. TAG1 stands for all tags.
var texts = []string{"NAME", "PROJECT", "TAGS", "TAG1", "CAUSE", "BODY", "BODYEND"}

// warn returns what is wrong with a body that is JSON only as long as no value has a quote. Such a body is valid, and some
// receivers want it, but most refuse it at the first such name.
func warn(settings map[string]string) *channels.SettingError {
	for _, to := range []string{"down", "up"} {
		body := settings["body_"+to]
		if settings["url_"+to] == "" || settings["method_"+to] == "GET" || !strings.HasPrefix(strings.TrimSpace(body), "{") && !strings.HasPrefix(strings.TrimSpace(body), "[") {
			continue
		}
		var names []string
		if isJSON(body, "") {
			for _, name := range texts {
				if !isJSON(body, name) {
					names = append(names, "$"+name)
				}
			}
		}
		if len(names) > 0 {
			return &channels.SettingError{Kind: channels.Webhook, Setting: "body_" + to, Reason: "is not JSON where the value of " +
				strings.Join(names, ", ") + " has a quote or a line break: write " + names[0] + "_JSON in place of \"" + names[0] + "\""}
		}
	}
	return nil
}

// isJSON reports whether a template becomes JSON when the value of one placeholder has a quote, or of none for "".
func isJSON(template, quoted string) bool {
	const plain, odd = "x", "a \"b\"\n"
	p := placeholders{}
	p.fill()
	for _, name := range texts {
		p.values[name], p.values[name+asJSON] = plain, encode(plain)
	}
	delete(p.values, "TAG1") // find knows the tags
	delete(p.values, "TAG1"+asJSON)
	p.tags = slices.Repeat([]string{plain}, maxTags)
	switch quoted {
	case "":
	case "TAG1":
		p.tags = slices.Repeat([]string{`a"b`}, maxTags)
	default:
		p.values[quoted], p.values[quoted+asJSON] = odd, encode(odd)
	}
	text, err := p.expand(template, maxBody, nil)
	return err == nil && json.Valid([]byte(text))
}

// maxTags is the number of tags that isJSON tries.
const maxTags = 100
