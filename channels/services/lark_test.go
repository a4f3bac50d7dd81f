package services_test

func larkSample() sample {
	return sample{
		settings: values{"webhook_url": "https://open.larksuite.com/open-apis/bot/v2/hook/s3cr3tX-1", "secret": "s3cr3tX ž/@"},
		answers:  ok(`{"code":0}`),
		// sign is the HMAC of the empty text with the key "1800000000\ns3cr3tX ž/@".
		want: []request{{"POST", "https://open.larksuite.com/open-apis/bot/v2/hook/s3cr3tX-1", values{},
			raw(`{"msg_type":"post","timestamp":"1800000000","sign":"` + larkSign + `",
				"content":{"post":{"en_us":{"title":"` + title + `","content":[[{"tag":"text","text":"` + body + `"}]]}}}}`)}},
	}
}
