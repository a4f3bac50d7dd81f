package services_test

func mattermostSample() sample {
	return sample{
		settings: values{"webhook_url": "https://chat.example.org/sub/hooks/s3cr3tXs3cr3tX", "channel": "ops/@?#%ž", "username": "ž/@"},
		answers:  ok("ok"),
		want: []request{{"POST", "https://chat.example.org/sub/hooks/s3cr3tXs3cr3tX", values{},
			raw(`{"text":"` + full + `","username":"ž/@","channel":"ops/@?#%ž"}`)}},
	}
}
