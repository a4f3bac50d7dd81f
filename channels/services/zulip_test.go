package services_test

import (
	"net/url"
	"strings"
)

func zulipSample() sample {
	return sample{
		settings: values{"site": "https://example.zulipchat.com", "email": "bot@example.org", "api_key": "s3cr3tX", "stream": "ops/@?#% ž"},
		answers:  ok(`{"result":"success"}`),
		want: []request{{"POST", "https://example.zulipchat.com/api/v1/messages", values{"Authorization": "Basic Ym90QGV4YW1wbGUub3JnOnMzY3IzdFg="},
			url.Values{"type": {"stream"}, "to": {"ops/@?#% ž"}, "topic": {"nightly backup"},
				"content": {"```text\n" + strings.Replace(unquote(full), "\nhttps", "\n```\nhttps", 1)}}}},
	}
}
