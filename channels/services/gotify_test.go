package services_test

func gotifySample() sample {
	return sample{
		settings: values{"server_url": "http://push.example.org:8080/sub/", "token": "As3cr3tX1234567"},
		answers:  ok(`{"id":1}`),
		want: []request{{"POST", "http://push.example.org:8080/sub/message", values{"X-Gotify-Key": "As3cr3tX1234567"},
			raw(`{"title":"` + title + `","message":"` + body + `","priority":8,"extras":null}`)}},
	}
}
