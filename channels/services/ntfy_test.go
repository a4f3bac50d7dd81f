package services_test

func ntfySample() sample {
	return sample{
		settings: values{"server_url": "https://ntfy.example.org/sub", "topic": "alerts", "username": "me@example.org",
			"password": "s3cr3tX:/@?#% ž", "tags": "warning, ž"},
		answers: ok(`{"id":"1"}`),
		want: []request{{"POST", "https://ntfy.example.org/sub/alerts", values{
			"Authorization": "Basic bWVAZXhhbXBsZS5vcmc6czNjcjN0WDovQD8jJSDFvg==", "Title": title, "Priority": "High", "Tags": "warning,ž",
		}, unquote(body)}},
	}
}
