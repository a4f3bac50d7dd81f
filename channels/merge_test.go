package channels_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
)

// mergeType is a kind with a secret, whose receiver "url" decides and "text" does not.
var mergeType = channels.Type{Kind: "pager", Settings: []channels.Setting{
	{Name: "url", Required: true}, {Name: "token", Secret: true}, {Name: "text", KeepsSecrets: true}, {Name: "loud", Default: "low", KeepsSecrets: true},
}}

// TestMerge: a stored secret stays unless it is cleared, and goes to no other receiver.
func TestMerge(t *testing.T) {
	stored := map[string]string{"url": "https://a.example", "token": "secret", "text": "hi", "loud": "high", "notify": "down"}
	with := func(pairs ...string) map[string]string {
		m := map[string]string{"url": "https://a.example", "token": "secret", "text": "", "loud": "low", "notify": "both"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, test := range map[string]struct {
		sources, wanted map[string]string
		cleared         string
		want            map[string]string
		err             *channels.KeptError
	}{
		"nothing but the receiver":  {wanted: map[string]string{"url": "https://a.example"}, want: with()},
		"what keeps secrets":        {wanted: map[string]string{"url": "https://a.example", "text": "new"}, want: with("text", "new")},
		"another receiver":          {wanted: map[string]string{"url": "https://b.example"}, err: &channels.KeptError{Kind: "pager", Kept: "token", Moved: "url"}},
		"no receiver":               {err: &channels.KeptError{Kind: "pager", Kept: "token", Moved: "url"}},
		"with the secret again":     {wanted: map[string]string{"url": "https://b.example", "token": "secret"}, want: with("url", "https://b.example")},
		"with another secret":       {wanted: map[string]string{"url": "https://b.example", "token": "new"}, want: with("url", "https://b.example", "token", "new")},
		"without the secret":        {wanted: map[string]string{"url": "https://b.example"}, cleared: "token", want: with("url", "https://b.example", "token", "")},
		"a receiver from a file":    {sources: map[string]string{"url": "file u"}, wanted: map[string]string{"token": "new"}, err: &channels.KeptError{Kind: "pager", Kept: "url", Source: "file u", Moved: "token"}},
		"a text from a variable":    {sources: map[string]string{"text": "$T"}, wanted: map[string]string{"url": "https://a.example"}, want: with("text", "hi")},
		"a setting that is unknown": {wanted: map[string]string{"url": "https://a.example", "other": "x"}, want: with("other", "x")},
	} {
		got, err := mergeType.Merge(channels.Channel{Settings: stored, Sources: test.sources}, test.wanted, func(name string) bool { return name == test.cleared })
		kept, _ := errors.AsType[*channels.KeptError](err)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.err, kept); diff != "" || (err == nil) != (test.err == nil) {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestShows: people see neither secrets nor values from files and variables, nor what the kind does not know.
func TestShows(t *testing.T) {
	c := channels.Channel{Sources: map[string]string{"text": "file t"}}
	for name, want := range map[string]bool{"url": true, "notify": true, "token": false, "text": false, "other": false} {
		if got := mergeType.Shows(c, name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

// TestWants: a channel gets alerts about down, up or both. A value that is none of them is both.
func TestWants(t *testing.T) {
	for value, want := range map[string][2]bool{"": {true, true}, "both": {true, true}, "down": {true, false}, "up": {false, true}, "x": {true, true}} {
		c := channels.Channel{Settings: map[string]string{channels.NotifySetting: value}}
		if got := [2]bool{c.Wants(channels.Down), c.Wants(channels.Up)}; got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
