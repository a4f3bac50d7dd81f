package services_test

func teamsSample() sample {
	return sample{
		settings: values{"webhook_url": "https://prod.westus.logic.azure.com/workflows/1?sig=s3cr3tX%2F%3D"},
		answers:  []answer{{status: 202}},
		want: []request{{"POST", "https://prod.westus.logic.azure.com/workflows/1?sig=s3cr3tX%2F%3D", values{},
			raw(`{"type":"message","summary":"` + title + `","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive",
			"contentUrl":null,"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","type":"AdaptiveCard",
			"version":"1.4","actions":[{"type":"Action.OpenUrl","title":"The check","url":"https://rollcall.example.org/c/1"}],"body":[
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"` + title + `","weight":"Bolder","color":"Attention"}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"Down since 2026-03-15 04:00:00 UTC: no ping in time."}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"Last ping: none"}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"https://rollcall.example.org/c/1"}]}]}}]}`)}},
	}
}
