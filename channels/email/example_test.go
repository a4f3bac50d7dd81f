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
	mail, err := email.New(&config)
	types := []channels.Type{mail} // for Config.Channels of a monitor
	fmt.Println(types[0].Kind, err)

	config.TLS = email.NoTLS
	_, err = email.New(&config)
	fmt.Println(err)
	// Output:
	// email <nil>
	// email: a Password needs TLS
}
