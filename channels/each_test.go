package channels_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
)

// TestEach sends to four recipients, of which one refuses for good and one fails for now.
func TestEach(t *testing.T) {
	gone, away := channels.Permanent(errors.New("gone")), channels.RetryAfter(errors.New("away"), time.Minute)
	answers := map[string]error{"b": gone, "c": away}
	var asked []string
	send := func(recipient string) error {
		asked = append(asked, recipient)
		return answers[recipient]
	}
	n := channels.Notification{}
	recipients := []string{"a", "b", "c", "d"}

	err := channels.Each(n, recipients, send)
	if after, _ := channels.RetryDelay(err); channels.IsPermanent(err) || after != time.Minute || err.Error() != "away" {
		t.Errorf("first attempt: %v", err)
	}
	if diff := cmp.Diff(recipients, asked); diff != "" {
		t.Error(diff)
	}
	if rest := channels.Rest(err); len(rest) != 2 || rest[0] != (channels.Unsent{Recipient: "b", Err: gone}) || rest[1].Recipient != "c" {
		t.Errorf("rest: %v", rest)
	}
	if diff := cmp.Diff([]string{"a", "d"}, channels.Accepted(err)); diff != "" {
		t.Error(diff)
	}

	n.Done, asked = channels.Accepted(err), nil
	delete(answers, "c")
	if err = channels.Each(n, recipients, send); !channels.IsPermanent(err) || err.Error() != "gone" {
		t.Errorf("second attempt: %v", err)
	}
	if diff := cmp.Diff([]string{"a", "d", "c"}, channels.Accepted(err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, asked); diff != "" {
		t.Error(diff)
	}

	delete(answers, "b")
	if err := channels.Each(n, recipients, send); err != nil {
		t.Errorf("third attempt: %v", err)
	}
}

// TestEachAlone sends to a single recipient, also when there is no such recipient any more.
func TestEachAlone(t *testing.T) {
	for recipient, want := range map[string]struct {
		asked []string
		err   error
	}{"b": {[]string{"b"}, nil}, "gone": {nil, channels.ErrNobody}} {
		var asked []string
		err := channels.Each(channels.Notification{Recipient: recipient}, []string{"a", "b"}, func(r string) error {
			asked = append(asked, r)
			return nil
		})
		if diff := cmp.Diff(want.asked, asked); diff != "" || !errors.Is(err, want.err) {
			t.Errorf("%s: %v %s", recipient, err, diff)
		}
	}
}
