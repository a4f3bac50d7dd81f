package services

import (
	"crypto/sha256"
	"encoding/hex"
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
	names := make([]string, len(recipients))
	byName := make(map[string]string)
	for i, r := range recipients {
		names[i] = doneName(r)
		byName[names[i]] = r
	}
	return channels.Each(m.n, names, func(name string) error {
		err := send(byName[name])
		if err == nil || len(recipients) == 1 {
			return err
		}
		return fmt.Errorf("%s: %w", byName[name], err)
	})
}

// doneName returns the name of a recipient for channels.Partial.
func doneName(recipient string) string {
	if len(recipient) <= maxDone {
		return recipient
	}
	hash := sha256.Sum256([]byte(recipient))
	return hex.EncodeToString(hash[:])
}

// maxDone is the maximum length of a name for channels.Partial, in bytes.
const maxDone = 200
