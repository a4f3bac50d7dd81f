package wire

import (
	"bytes"
	"fmt"
	"time"
)

// The layouts of timestamps. Formatting truncates finer times.
const (
	secondsLayout = "2006-01-02T15:04:05-07:00"
	microsLayout  = "2006-01-02T15:04:05.000000-07:00"
)

// Time is a timestamp in whole seconds, written in UTC: "2026-01-02T03:04:05+00:00". Any ISO 8601 timestamp with an
// offset can be read; the result is in UTC.
type Time struct{ time.Time }

// NewTime returns a pointer to a timestamp, or nil, which is null in JSON, for the zero time.
func NewTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// MarshalJSON writes the timestamp. It fails if the year does not have four digits.
func (t Time) MarshalJSON() ([]byte, error) { return marshalTime(t.Time, secondsLayout) }

// UnmarshalJSON reads a timestamp.
func (t *Time) UnmarshalJSON(data []byte) error { return unmarshalTime(&t.Time, data) }

// Micros is a [Time] with microseconds: "2026-01-02T03:04:05.000006+00:00".
type Micros struct{ time.Time }

// MarshalJSON writes the timestamp. It fails if the year does not have four digits.
func (t Micros) MarshalJSON() ([]byte, error) { return marshalTime(t.Time, microsLayout) }

// UnmarshalJSON reads a timestamp.
func (t *Micros) UnmarshalJSON(data []byte) error { return unmarshalTime(&t.Time, data) }

func marshalTime(t time.Time, layout string) ([]byte, error) {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("wire: the year of a timestamp does not have four digits: %d", year)
	}
	return t.AppendFormat(nil, `"`+layout+`"`), nil
}

// unmarshalTime ignores null, as unmarshalers do by convention.
func unmarshalTime(t *time.Time, data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(data))
	if err != nil {
		return fmt.Errorf("wire: invalid timestamp: %w", err)
	}
	*t = parsed.UTC()
	return nil
}
