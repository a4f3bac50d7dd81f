package channels

import (
	"errors"
	"net/mail"
	"slices"
	"strings"
	"unicode"
)

// Recipients returns the addresses that get the alerts of a channel of kind [Email], each once: those in its setting "to"
// that are not in its setting "unsubscribed". There may be none.
func Recipients(settings map[string]string) ([]*mail.Address, error) {
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

// Unsubscribe changes the settings of a channel of kind [Email] so that an address gets no more of its alerts: it goes
// into the setting "unsubscribed". Unsubscribe reports whether the address was one of its [Recipients].
func Unsubscribe(settings map[string]string, address string) bool {
	list, err := Recipients(settings)
	i := slices.IndexFunc(list, func(a *mail.Address) bool { return strings.EqualFold(a.Address, address) })
	if err != nil || i < 0 {
		return false
	}
	// Addresses that are no longer in "to" need no entry; they would fill the setting.
	to, _ := mail.ParseAddressList(settings["to"])
	gone, _ := mail.ParseAddressList(settings["unsubscribed"])
	gone = slices.DeleteFunc(gone, func(g *mail.Address) bool {
		return !slices.ContainsFunc(to, func(a *mail.Address) bool { return strings.EqualFold(a.Address, g.Address) })
	})
	var texts []string
	for _, a := range append(gone, list[i]) {
		texts = append(texts, strings.Trim((&mail.Address{Address: a.Address}).String(), "<>"))
	}
	settings["unsubscribed"] = strings.Join(texts, ", ")
	return true
}
