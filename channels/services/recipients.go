package services

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/channels"
)

// each sends to each recipient in a setting that does not have the message yet; see [channels.Each]. If there are
// several, errors name the recipient.
func (m *delivery) each(setting string, send func(recipient string) error) error {
	recipients := list(m.settings[setting])
	if len(recipients) == 0 {
		return errors.New(setting + " is empty")
	}
	return channels.Each(m.n, recipients, func(recipient string) error {
		err := send(recipient)
		if err == nil || len(recipients) == 1 {
			return err
		}
		return fmt.Errorf("%s: %w", recipient, err)
	})
}
