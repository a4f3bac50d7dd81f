package services_test

func pushbulletSample() sample {
	return sample{
		settings: values{"token": "s3cr3tX", "target": "#ops"},
		answers:  ok(`{}`),
		want: []request{{"POST", "https://api.pushbullet.com/v2/pushes", values{"Access-Token": "s3cr3tX"},
			raw(`{"type":"note","title":"` + title + `","body":"` + body + `","guid":"n-1","channel_tag":"ops"}`)}},
	}
}
