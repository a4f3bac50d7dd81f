package services_test

import "net/url"

func pushoverSample() sample {
	return sample{
		settings: values{"token": key30, "user": key30, "devices": "a,b", "priority": "1"},
		answers:  ok(`{"status":1}`),
		want: []request{{"POST", "https://api.pushover.net/1/messages.json", values{}, url.Values{"token": {key30}, "user": {key30},
			"device": {"a,b"}, "priority": {"1"}, "title": {title}, "message": {unquote(body)}}}},
	}
}
