package services_test

func googlechatSample() sample {
	return sample{
		settings: values{"webhook_url": "https://chat.googleapis.com/v1/spaces/AAA/messages?key=s3cr3tXkey&token=s3cr3tXtoken"},
		answers:  ok(`{}`),
		want: []request{{"POST", "https://chat.googleapis.com/v1/spaces/AAA/messages?key=s3cr3tXkey" +
			"&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&token=s3cr3tXtoken", values{},
			raw(`{"text":"` + full + `","thread":{"threadKey":"i-1"}}`)}},
	}
}
