package services_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

// longNotification returns a notification with the longest values in each field, in characters that need many bytes and that are
// markup for some service.
func longNotification() channels.Notification {
	n := down()
	odd := strings.Repeat("*\\@<_`ž😀", 200)
	n.Check.Name, n.Check.Project, n.Check.Tags, n.Check.Timing, n.Check.Desc = odd, odd, []string{odd}, odd, odd
	n.Reason, n.Verdict = odd, odd
	n.Ping = channels.Ping{
		At: n.At, Kind: "fail", Duration: time.Hour, Body: []byte(odd),
		End: bytes.Repeat([]byte("```\n@all <!channel> 😀😀\n"), 150)[:channels.MaxEnd],
	}
	for range 10 {
		n.Earlier = append(n.Earlier, channels.Change{Status: channels.Down, At: n.At, Reason: odd})
	}
	return n
}

// TestLongRecipient sends to a room whose ID is longer than what channels.Partial takes.
func TestLongRecipient(t *testing.T) {
	h := newHomeserver(t)
	room := "!" + strings.Repeat("x", 240) + ":h"
	h.members[room] = "joined"
	n := down()
	send := func() error {
		return pretend(t, h.ServeHTTP).send("matrix", values{"homeserver": "https://h", "access_token": "right", "rooms": room + ",!quiet:h"}, n)
	}
	n.Done = channels.Accepted(send())
	if len(n.Done) != 1 || len(n.Done[0]) > 200 {
		t.Fatalf("accepted: %q", n.Done)
	}
	h.asked = nil
	if err := send(); err == nil || h.asked[0] != "PUT rooms !quiet:h" {
		t.Errorf("the second attempt: %q, %v", h.asked, err)
	}
}
