package services_test

import "net/url"

func joinSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX%/?", "devices": "d1, d2"},
		answers:  ok(`{"success":true}`),
		want: []request{{"POST", "https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?" + url.Values{
			"apikey": {"s3cr3tX%/?"}, "deviceIds": {"d1,d2"}, "title": {title}, "text": {unquote(body)},
		}.Encode(), values{}, url.Values{}}},
	}
}
