//go:build unix

package shell_test

import (
	"context"
	"fmt"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/shell"
)

func ExampleNew() {
	notifier := shell.New(nil).Notifier
	c := channels.Channel{Kind: "shell", Settings: map[string]string{
		"command_down": `echo "cannot page about $CHECK_NAME: $REASON"; exit 1`,
	}}
	n := channels.Notification{Status: channels.Down, Reason: "no ping in time", Check: channels.Check{Name: "$(reboot)"}}
	fmt.Println(notifier.Notify(context.Background(), c, n))
	// Output: the command ended with exit status 1: cannot page about $(reboot): no ping in time
}
