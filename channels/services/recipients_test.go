package services_test

import (
	"bytes"
	"strings"
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
