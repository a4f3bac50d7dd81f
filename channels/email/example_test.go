package email_test

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
)

func ExampleNew() {
	config := email.Config{
		Host:     "smtp.example.org", // port 587, with STARTTLS
		Username: "rollcall",
		Password: "secret",
		From:     "Rollcall <rollcall@example.org>",
	}
	notifier, err := email.New(config)
	notifiers := map[channels.Kind]channels.Notifier{channels.Email: notifier}
	fmt.Println(len(notifiers), err)

	config.TLS = email.NoTLS
	_, err = email.New(config)
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// email: a Password needs TLS
}
