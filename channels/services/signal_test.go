package services_test

func signalSample() sample {
	return sample{
		settings: values{"server_url": "http://signal.example.org:8080", "number": "+37120000000", "recipients": "+37129999999, group.YWJj/+=",
			"username": "u", "password": "s3cr3tX:ž"},
		answers: []answer{{status: 201, body: `{"timestamp":"1"}`}},
		want: []request{{"POST", "http://signal.example.org:8080/v2/send", values{"Authorization": "Basic dTpzM2NyM3RYOsW+"},
			raw(`{"message":"` + full + `","number":"+37120000000","recipients":["+37129999999","group.YWJj/+="]}`)}},
	}
}
