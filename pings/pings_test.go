package pings_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

func TestSignalNormalized(t *testing.T) {
	for _, test := range []struct {
		kind pings.Kind
		exit *int
		want string // the kind, or the error
	}{
		{"", nil, "success"},
		{"", new(0), "success"},
		{"", new(3), "fail"},
		{"", new(255), "fail"},
		{pings.Success, new(0), "success"},
		{pings.Failure, new(3), "fail"},
		{pings.Start, nil, "start"},
		{pings.Failure, nil, "fail"},
		{pings.Log, nil, "log"},
		{pings.Success, new(3), "the kind success contradicts the exit status 3"},
		{pings.Failure, new(0), "the kind fail contradicts the exit status 0"},
		{pings.Start, new(0), "the kind start contradicts the exit status 0"},
		{pings.Log, new(1), "the kind log contradicts the exit status 1"},
		{pings.Ignored, nil, `the kind "ign" is not success, start, fail or log`},
		{"succes", nil, `the kind "succes" is not success, start, fail or log`},
		{"succes", new(0), `the kind "succes" is not success, start, fail or log`},
		{"", new(256), "the exit status 256 is not in 0 to 255"},
		{"", new(-1), "the exit status -1 is not in 0 to 255"},
	} {
		s, err := pings.Signal{Kind: test.kind, ExitStatus: test.exit}.Normalized()
		got := string(s.Kind)
		if err != nil {
			got = err.Error()
		} else if again, err := s.Normalized(); err != nil || again.Kind != s.Kind {
			t.Errorf("%q with exit status %v became %q, %v when normalized again", test.kind, test.exit, again.Kind, err)
		}
		if got != test.want {
			t.Errorf("%q with exit status %v: %q, want %q", test.kind, test.exit, got, test.want)
		}
	}
}

func TestSignalTexts(t *testing.T) {
	for in, want := range map[string]string{
		"curl/8.5":                        "curl/8.5",
		"bad \xff byte":                   "bad \uFFFD byte",
		"nul\x00":                         "nul\uFFFD",
		strings.Repeat("a", 201):          strings.Repeat("a", 200),
		strings.Repeat("😀", 300):          strings.Repeat("😀", 200),
		strings.Repeat("ä", 199) + "\xc3": strings.Repeat("ä", 199) + "\uFFFD",
	} {
		if got, err := (pings.Signal{UserAgent: in}).Normalized(); err != nil || got.UserAgent != want || got.Kind != pings.Success {
			t.Errorf("%q: %q %q, want %q", in, got.Kind, got.UserAgent, want)
		}
	}
}

func TestInvalidRun(t *testing.T) {
	id := uuid.New()
	if got, err := (pings.Signal{RunID: uuid.NullUUID{UUID: id}}).Normalized(); err != nil || got.RunID != (uuid.NullUUID{}) {
		t.Errorf("no run became the run %v, error %v", got.RunID, err)
	}
	if got, err := (pings.Signal{RunID: uuid.NullUUID{UUID: id, Valid: true}}).Normalized(); err != nil || got.RunID.UUID != id || !got.RunID.Valid {
		t.Errorf("the run %s became %v, error %v", id, got.RunID, err)
	}
}

// TestSchemes: a signal either has all that the rules of its scheme need, or is refused.
func TestSchemes(t *testing.T) {
	mail := &pings.Mail{Subject: "failed"}
	for _, s := range []pings.Signal{
		{}, {RemoteAddr: "192.0.2.1", UserAgent: "worker"}, {Scheme: "http"}, {Scheme: "https", Method: "POST", Filtered: []byte("failed")},
		{Scheme: "email", Mail: mail}, pings.FromMail("nas@example.org", []byte("raw"), mail), pings.FromMail("", nil, &pings.Mail{}),
		pings.FromHTTP("GET", false, nil), pings.FromHTTP("POST", true, []byte("failed")),
	} {
		if n, err := s.Normalized(); err != nil || n.Scheme != s.Scheme || n.Kind != pings.Success {
			t.Errorf("%+v became %+v, %v", s, n, err)
		}
	}
	for want, signals := range map[string][]pings.Signal{
		"is not http, https or email, nor empty": {
			{Scheme: "smtp"}, {Scheme: "SMTP", Mail: mail}, {Scheme: "HTTP", Method: "POST"}, {Scheme: "Https"}, {Scheme: "Email", Mail: mail},
			{Scheme: " http"}, {Scheme: "http\x00"}, {Scheme: "mail", Mail: mail}, {Scheme: "http://"}, {Scheme: strings.Repeat("http", 1000)},
		},
		"the text of the message is missing": {{Scheme: "email"}, {Scheme: "email", Body: []byte("Subject: failed")}, pings.FromMail("", nil, nil)},
		"it has the text of a message":       {{Mail: mail}, {Scheme: "http", Mail: mail}},
		"it has the method":                  {{Method: "GET"}, {Scheme: "email", Mail: mail, Method: "POST"}},
		"it has the text of a request":       {{Filtered: []byte("failed")}, {Scheme: "email", Mail: mail, Filtered: []byte{}}},
	} {
		for _, s := range signals {
			if _, err := s.Normalized(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %v, want one with %q", s, err, want)
			}
		}
	}
	http, message := pings.FromHTTP("HEAD", false, []byte("b")), pings.FromMail("", []byte("raw"), mail)
	if http.Scheme != pings.SchemeHTTP || http.Method != "HEAD" || string(http.Body) != "b" || pings.FromHTTP("GET", true, nil).Scheme != pings.SchemeHTTPS {
		t.Errorf("a request became %+v", http)
	}
	if message.Mail != mail || string(message.Body) != "raw" || message.UserAgent != "Email from <>" {
		t.Errorf("a message became %+v", message)
	}
}

func FuzzSignalNormalized(f *testing.F) {
	f.Add("curl", "\xff\x00")
	f.Fuzz(func(t *testing.T, ua, addr string) {
		s, err := pings.Signal{UserAgent: ua, RemoteAddr: addr}.Normalized()
		if err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(s.UserAgent); n > 200 {
			t.Errorf("%d characters", n)
		}
		for _, text := range []string{s.UserAgent, s.RemoteAddr} {
			if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				t.Errorf("%q", text)
			}
		}
		if utf8.RuneCountInString(ua) <= 200 && utf8.ValidString(ua) && !strings.Contains(ua, "\x00") && s.UserAgent != ua {
			t.Errorf("%q became %q", ua, s.UserAgent)
		}
	})
}
