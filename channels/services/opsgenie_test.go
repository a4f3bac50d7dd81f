package services_test

func opsgenieSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX", "tags": "a, b"},
		answers:  []answer{{status: 202, body: `{}`}},
		want: []request{{"POST", "https://api.opsgenie.com/v2/alerts", values{"Authorization": "GenieKey s3cr3tX"},
			raw(`{"message":"` + title + `","description":"` + body + `","alias":"i-1","source":"Rollcall","entity":"backup",
				"priority":"P3","tags":["a","b"]}`)}},
	}
}
