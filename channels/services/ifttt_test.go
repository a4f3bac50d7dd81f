package services_test

import (
	"net/http"
	"regexp"
	"testing"
)

func iftttSample() sample {
	return sample{
		settings: values{"key": "s3cr3tX-key", "event": "alert"},
		answers:  ok("Congratulations! You've fired the alert event"),
		rules:    iftttRules,
		want: []request{{"POST", "https://maker.ifttt.com/trigger/alert/with/key/s3cr3tX-key", values{},
			raw(`{"value1":"` + title + `","value2":"` + body + `","value3":"down"}`)}},
	}
}

// iftttRules are those that https://maker.ifttt.com/use/KEY shows: three values at most, as JSON.
func iftttRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	if !regexp.MustCompile(`^/trigger/\w+/with/key/[\w-]+$`).MatchString(r.URL.Path) {
		return refuse(401, `{"errors":[{"message":"You sent an invalid key."}]}`)
	}
	for name := range fields {
		if !isObject || name != "value1" && name != "value2" && name != "value3" {
			return refuse(400, `{"errors":[{"message":"Bad request"}]}`)
		}
	}
	return nil
}

func TestIFTTTAnswers(t *testing.T) {
	testAnswers(t, iftttSample(), "ifttt", []outcome{
		{"a page", answer{200, "<html>", nil}, true, false, 0},
		{"nothing", answer{200, "", nil}, true, false, 0},
		{"wrong key", answer{401, `{"errors":[{"message":"You sent an invalid key."}]}`, nil}, true, false, 0},
	})
}
