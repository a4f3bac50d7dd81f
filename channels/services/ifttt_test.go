package services_test

func iftttSample() sample {
	return sample{
		settings: values{"key": "s3cr3tX-key", "event": "alert"},
		answers:  ok("Congratulations!"),
		want: []request{{"POST", "https://maker.ifttt.com/trigger/alert/with/key/s3cr3tX-key", values{},
			raw(`{"value1":"` + title + `","value2":"` + body + `","value3":"down"}`)}},
	}
}
