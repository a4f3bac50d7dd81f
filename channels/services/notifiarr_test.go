package services_test

func notifiarrSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX-key", "channel": "1234567890123456789"},
		answers:  ok(`{}`),
		want: []request{{"POST", "https://notifiarr.com/api/v1/notification/passthrough/s3cr3tX-key", values{},
			raw(`{"notification":{"name":"Rollcall","event":"n-1"},"discord":{"color":"D60510",
				"text":{"title":"` + title + `","description":"` + body + `"},"ids":{"channel":1234567890123456789}}}`)}},
	}
}
