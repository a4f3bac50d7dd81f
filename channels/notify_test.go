package channels_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

func TestPermanent(t *testing.T) {
	permanent := channels.Permanent(io.EOF)
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"plain", io.EOF, false},
		{"permanent", permanent, true},
		{"twice", channels.Permanent(permanent), true},
		{"wrapped", fmt.Errorf("send: %w", permanent), true},
		{"joined", errors.Join(io.ErrUnexpectedEOF, permanent), true},
		{"permanent nil", channels.Permanent(nil), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := channels.IsPermanent(tt.err); got != tt.want {
				t.Errorf("IsPermanent = %v, want %v", got, tt.want)
			}
		})
	}
	if channels.Permanent(nil) != nil {
		t.Error("Permanent(nil) is not nil")
	}
	if !errors.Is(permanent, io.EOF) {
		t.Error("the error is not wrapped")
	}
	if diff := cmp.Diff("EOF", permanent.Error()); diff != "" {
		t.Error(diff)
	}
}

// A Notifier that prints notifications.
func ExampleNotifier() {
	var printer channels.Notifier = channels.NotifierFunc(
		func(_ context.Context, c channels.Channel, n channels.Notification) error {
			if c.Settings["to"] == "" {
				return channels.Permanent(errors.New("the channel has no receiver"))
			}
			fmt.Printf("to %s: %s is %s: %s\n", c.Settings["to"], n.Check.Name, n.Status, n.Reason)
			return nil
		})

	n := channels.Notification{
		ID:     "01-down",
		Check:  channels.Check{ID: uuid.New(), Name: "backup"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "no ping in time",
	}
	c := channels.Channel{Kind: "print", Settings: map[string]string{"to": "console"}}
	err := printer.Notify(context.Background(), c, n)
	fmt.Println(err, channels.IsPermanent(err))
	err = printer.Notify(context.Background(), channels.Channel{Kind: "print"}, n)
	fmt.Println(err, channels.IsPermanent(err))
	// Output:
	// to console: backup is down: no ping in time
	// <nil> false
	// the channel has no receiver true
}
