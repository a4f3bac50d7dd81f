package sqlstore

import (
	"encoding/binary"
	"errors"

	"github.com/rollcall-dev/rollcall/checks"
)

// The state of a check's alert rules is stored as a version byte, 1, followed by varints in the order of the fields:
// instants in microseconds, and counts. The zero value is NULL.

const (
	alertingVersion = 1
	alertingFields  = 8
)

var errAlerting = errors.New("sqlstore: the column alerting has a value that this version cannot read")

// encodeAlerting returns nil for the zero value.
func encodeAlerting(a checks.Alerting) []byte {
	if a == (checks.Alerting{}) {
		return nil
	}
	b := []byte{alertingVersion}
	for _, v := range [alertingFields]int64{
		micros(a.Since), int64(a.Failures), micros(a.FailedAt), micros(a.ExpectedAt),
		micros(a.HeldSince), micros(a.RepeatFrom), int64(a.Reminders), micros(a.Next),
	} {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func decodeAlerting(b []byte) (checks.Alerting, error) {
	if len(b) == 0 {
		return checks.Alerting{}, nil
	}
	if b[0] != alertingVersion {
		return checks.Alerting{}, errAlerting
	}
	b = b[1:]
	var values [alertingFields]int64
	for i := range values {
		n := 0
		if values[i], n = binary.Varint(b); n <= 0 {
			return checks.Alerting{}, errAlerting
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return checks.Alerting{}, errAlerting
	}
	return checks.Alerting{
		Since: instant(values[0]), Failures: int(values[1]), FailedAt: instant(values[2]), ExpectedAt: instant(values[3]),
		HeldSince: instant(values[4]), RepeatFrom: instant(values[5]), Reminders: int(values[6]), Next: instant(values[7]),
	}, nil
}
