package services_test

func telegramSample() sample {
	return sample{
		settings: values{"token": "123456:s3cr3tX-abc", "chats": "-100123", "thread_id": "7", "silent": "yes"},
		answers:  ok(`{"ok":true}`),
		want: []request{{"POST", "https://api.telegram.org/bot123456:s3cr3tX-abc/sendMessage", values{},
			raw(`{"chat_id":"-100123","text":"` + full + `","message_thread_id":7,"disable_notification":true,
				"link_preview_options":{"is_disabled":true}}`)}},
	}
}
