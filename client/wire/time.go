package wire

import (
	"bytes"
	"fmt"
	"time"
)

// The forms of timestamps. What is finer is cut off.
const (
	secondsForm = "2006-01-02T15:04:05-07:00"
	microsForm  = "2006-01-02T15:04:05.000000-07:00"
)

// Time is a timestamp of whole seconds, written in UTC: "2026-01-02T03:04:05+00:00". It is read from any ISO 8601
// timestamp with an offset, and is in UTC then.
type Time struct{ time.Time }

// NewTime returns a pointer to the instant, or nil for the zero time, which is null in a document.
func NewTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// MarshalJSON writes the timestamp. The error is for years that have not four digits.
func (t Time) MarshalJSON() ([]byte, error) { return marshalTime(t.Time, secondsForm) }

// UnmarshalJSON reads a timestamp.
func (t *Time) UnmarshalJSON(data []byte) error { return unmarshalTime(&t.Time, data) }

// Micros is a timestamp with microseconds, written in UTC: "2026-01-02T03:04:05.000006+00:00". It is read like a
// [Time].
type Micros struct{ time.Time }

// MarshalJSON writes the timestamp. The error is for years that have not four digits.
func (t Micros) MarshalJSON() ([]byte, error) { return marshalTime(t.Time, microsForm) }

// UnmarshalJSON reads a timestamp.
func (t *Micros) UnmarshalJSON(data []byte) error { return unmarshalTime(&t.Time, data) }

func marshalTime(t time.Time, form string) ([]byte, error) {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("wire: the year of a timestamp has not four digits: %d", year)
	}
	return t.AppendFormat(nil, `"`+form+`"`), nil
}

// unmarshalTime leaves t as it is when data is null, as unmarshalers do by convention.
func unmarshalTime(t *time.Time, data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(data))
	if err != nil {
		return fmt.Errorf("wire: not a timestamp: %w", err)
	}
	*t = parsed.UTC()
	return nil
}
