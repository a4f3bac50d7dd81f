package services_test

func slackSample() sample {
	return sample{
		settings: values{"webhook_url": slackHook, "username": "ž", "icon": "bell"},
		answers:  ok("ok"),
		want: []request{{"POST", slackHook, values{}, raw(`{"text":"` + title + `","mrkdwn":false,"unfurl_links":false,"username":"ž",
			"icon_emoji":":bell:","attachments":[{"color":"danger","fallback":"` + body + `","text":"` + body + `","mrkdwn_in":[]}]}`)}},
	}
}
