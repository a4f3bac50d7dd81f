package twilio_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/twilio"
)

func TestText(t *testing.T) {
	long := func(name string) channels.Notification {
		n := down()
		n.Check.Name, n.Reason = name, strings.Repeat("r", 200)
		return n
	}
	if diff := cmp.Diff(text, twilio.Text(down())); diff != "" {
		t.Error(diff)
	}
	// 6 + 100 + 1 + 35 + 200 + 1 characters of the alphabet fit.
	if got := twilio.Text(long(strings.Repeat("a", 100))); strings.HasSuffix(got, "...") {
		t.Errorf("cut although it fits: %q", got)
	}
	got := twilio.Text(long(strings.Repeat("ž", 100)))
	if !strings.HasSuffix(got, "r...") || utf8.RuneCountInString(got) != 201 {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(got), got)
	}
	got = twilio.Text(long(strings.Repeat("😀", 100))) // two units each, 33 a segment
	if !strings.HasPrefix(got, "DOWN: "+strings.Repeat("😀", 90)) || !strings.HasSuffix(got, "...") || len([]rune(got)) > 110 {
		t.Errorf("%q", got)
	}
}

func ExampleText() {
	fmt.Println(twilio.Text(channels.Notification{
		Check:   channels.Check{Name: "nightly backup"},
		Status:  channels.Up,
		At:      time.Date(2026, time.March, 15, 6, 5, 0, 0, time.UTC),
		DownFor: 125 * time.Minute,
		Reason:  "success was signalled",
	}))
	// Output:
	// UP: nightly backup
	// Up since 2026-03-15 06:05:00 UTC, after 2 hours 5 minutes: success was signalled.
}
