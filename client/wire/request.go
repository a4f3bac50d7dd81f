package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks"
)

// Request returns the body of a request that creates or updates a check. It ignores Spec.ID. The error is a
// *[checks.FieldError] for what a request cannot express: a period that is not in whole seconds, a tag with a blank, or
// text that is not UTF-8. The server judges the rest.
func Request(s checks.Spec, unique ...checks.UniqueField) (json.RawMessage, error) {
	fields := make(map[string]any)
	if len(unique) > 0 {
		fields["unique"] = unique
	}
	for _, setting := range checks.AllSettings() {
		switch value := setting.Value(s).(type) {
		case nil:
		case time.Duration:
			if value%time.Second != 0 {
				return nil, &checks.FieldError{Field: setting.Name, Reason: fmt.Sprintf("is not a whole number of seconds: %v", value)}
			}
			fields[setting.Name] = seconds(value)
		case []string:
			if err := (checks.Spec{Tags: value}).Validate(time.Time{}); err != nil { // a blank would make two tags of one
				return nil, err
			}
			fields[setting.Name] = strings.Join(value, " ")
		case string:
			if !utf8.ValidString(value) { // encoding/json would silently replace it
				return nil, &checks.FieldError{Field: setting.Name, Reason: "is not valid UTF-8"}
			}
			fields[setting.Name] = value
		default:
			fields[setting.Name] = value
		}
	}
	return json.Marshal(fields)
}
