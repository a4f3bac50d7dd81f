package services_test

func rocketchatSample() sample {
	return sample{
		settings: values{"webhook_url": "https://chat.example.org:8443/sub/hooks/s3cr3tXid/s3cr3tXtoken", "channel": "#ž/@?"},
		answers:  ok("ok"),
		want: []request{{"POST", "https://chat.example.org:8443/sub/hooks/s3cr3tXid/s3cr3tXtoken", values{},
			raw(`{"text":"` + full + `","channel":"#ž/@?"}`)}},
	}
}
