package services_test

func barkSample() sample {
	return sample{
		settings: values{"device_key": "s3cr3tXkey"},
		answers:  ok(`{"code":200,"message":"success"}`),
		want: []request{{"POST", "https://api.day.app/push", values{},
			raw(`{"device_key":"s3cr3tXkey","title":"` + title + `","body":"` + body + `"}`)}},
	}
}
