package services_test

func wecomSample() sample {
	return sample{
		settings: values{"key": "s3cr3tX-key"},
		answers:  ok(`{"errcode":0,"errmsg":"ok"}`),
		want: []request{{"POST", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=s3cr3tX-key", values{},
			raw(`{"msgtype":"text","text":{"content":"` + full + `"}}`)}},
	}
}
