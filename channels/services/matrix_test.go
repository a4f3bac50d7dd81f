package services_test

func matrixSample() sample {
	return sample{
		settings: values{"homeserver": "https://matrix.example.org/", "access_token": "s3cr3tX", "rooms": "#ops/1:example.org"},
		answers:  []answer{{status: 200, body: `{"room_id":"!a/b?:example.org"}`}, {status: 200, body: `{"event_id":"$1"}`}},
		want: []request{
			{"POST", "https://matrix.example.org/_matrix/client/v3/join/%23ops%2F1:example.org", values{"Authorization": "Bearer s3cr3tX"}, raw(`{}`)},
			{"PUT", "https://matrix.example.org/_matrix/client/v3/rooms/%21a%2Fb%3F:example.org/send/m.room.message/rollcall-n-1", values{"Authorization": "Bearer s3cr3tX"},
				raw(`{"msgtype":"m.text","body":"` + full + `","m.mentions":{}}`)},
		},
	}
}
