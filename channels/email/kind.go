package email

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
)

// maxAddresses is the maximum number of recipients, which every mail server accepts (RFC 5321, section 4.5.3.1.8).
const maxAddresses = 100

// kind describes the kind and its settings.
func kind() channels.Type {
	return channels.Type{
		Kind: channels.Email, Title: "E-mail", Category: channels.CategoryMail, Combines: true,
		Doc: "Sends an e-mail to one or several addresses.",
		Settings: []channels.Setting{{
			Name:     "to",
			Doc:      "The address, or several separated by commas.",
			Required: true, KeepsSecrets: true,
			Check: checkAddresses,
		}, {
			Name:         "unsubscribed",
			Doc:          "The addresses that have unsubscribed by the link in a message. They get no more alerts until you remove them here.",
			KeepsSecrets: true,
			Check:        checkAddresses,
		}},
		Preview: func(c channels.Channel, n channels.Notification) string {
			v := newView(c, n)
			return "Subject: " + v.Subject + "\n\n" + v.text()
		},
	}
}

// checkAddresses accepts a list of e-mail addresses.
func checkAddresses(value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return errors.New("contains a control character")
	}
	list, err := mail.ParseAddressList(value)
	if err != nil || len(list) == 0 { // an empty group has no address and is no error
		return errors.New("is not a comma-separated list of e-mail addresses")
	}
	if len(list) > maxAddresses {
		return fmt.Errorf("has too many addresses: %d, the maximum is %d", len(list), maxAddresses)
	}
	return nil
}
