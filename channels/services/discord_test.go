package services_test

func discordSample() sample {
	return sample{
		settings: values{"webhook_url": "https://discord.com/api/webhooks/123456/s3cr3tX-token"},
		answers:  []answer{{status: 204}},
		want: []request{{"POST", "https://discord.com/api/webhooks/123456/s3cr3tX-token", values{},
			raw(`{"embeds":[{"title":"` + title + `","description":"` + body + `","color":14026000}]}`)}},
	}
}
