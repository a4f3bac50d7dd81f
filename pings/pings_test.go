package pings_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

func TestSignalValidate(t *testing.T) {
	for _, test := range []struct {
		signal pings.Signal
		want   string
	}{
		{pings.Signal{}, ""},
		{pings.Signal{Kind: pings.Log}, ""},
		{pings.Signal{Kind: pings.Ignored}, `the kind "ign" is not success, start, fail or log`},
		{pings.Signal{Kind: "succes"}, `the kind "succes" is not success, start, fail or log`},
		{pings.Signal{ExitStatus: new(0)}, ""},
		{pings.Signal{ExitStatus: new(255)}, ""},
		{pings.Signal{ExitStatus: new(256)}, "the exit status 256 is not in 0 to 255"},
		{pings.Signal{ExitStatus: new(-1)}, "the exit status -1 is not in 0 to 255"},
	} {
		var got string
		if err := test.signal.Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.signal, got, test.want)
		}
	}
}

func TestSignalCleaned(t *testing.T) {
	for in, want := range map[string]string{
		"curl/8.5":                        "curl/8.5",
		"bad \xff byte":                   "bad \uFFFD byte",
		"nul\x00":                         "nul\uFFFD",
		strings.Repeat("a", 201):          strings.Repeat("a", 200),
		strings.Repeat("😀", 300):          strings.Repeat("😀", 200),
		strings.Repeat("ä", 199) + "\xc3": strings.Repeat("ä", 199) + "\uFFFD",
	} {
		if got := (pings.Signal{UserAgent: in}).Cleaned(); got.UserAgent != want || got.Kind != pings.Success {
			t.Errorf("%q: %q %q, want %q", in, got.Kind, got.UserAgent, want)
		}
	}
}

func TestSignalCleanedOfInvalidRun(t *testing.T) {
	id := uuid.New()
	if got := (pings.Signal{RunID: uuid.NullUUID{UUID: id}}).Cleaned().RunID; got != (uuid.NullUUID{}) {
		t.Errorf("no run became the run %v", got)
	}
	if got := (pings.Signal{RunID: uuid.NullUUID{UUID: id, Valid: true}}).Cleaned().RunID; got.UUID != id || !got.Valid {
		t.Errorf("the run %s became %v", id, got)
	}
}

func FuzzSignalCleaned(f *testing.F) {
	f.Add("curl", "\xff\x00")
	f.Fuzz(func(t *testing.T, ua, addr string) {
		s := pings.Signal{UserAgent: ua, RemoteAddr: addr}.Cleaned()
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
