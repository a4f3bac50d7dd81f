package email

import (
	"errors"
	"net/mail"
	"slices"
	"strings"
	"unicode"
)

// recipients returns the addresses that get the alerts of a channel of kind [channels.Email], each once: those in its setting "to"
// that are not in its setting "unsubscribed". There may be none.
func recipients(settings map[string]string) ([]*mail.Address, error) {
	list, err := mail.ParseAddressList(settings["to"])
	if err != nil || len(list) == 0 || strings.ContainsFunc(settings["to"], unicode.IsControl) {
		return nil, errors.New("the setting to is not a list of e-mail addresses")
	}
	gone, _ := mail.ParseAddressList(settings["unsubscribed"]) // nil if it is empty
	seen := make(map[string]bool, len(list))
	for _, a := range gone {
		seen[strings.ToLower(a.Address)] = true
	}
	return slices.DeleteFunc(list, func(a *mail.Address) bool {
		address := strings.ToLower(a.Address)
		twice := seen[address]
		seen[address] = true
		return twice
	}), nil
}
