package services

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

// codes are the codes of a service that answers 200 with a code, which is 0 for success.
type codes struct {
	field, text string // the names of the code and of its text in the answer
	gone        []int  // no retry cures these errors
	tooFast     []int  // these ask for the pause
	pause       time.Duration
}

// check returns the error of an answer.
func (c codes) check(answer []byte) error {
	var fields map[string]json.RawMessage
	var code *int
	var text string
	if json.Unmarshal(answer, &fields) != nil || json.Unmarshal(fields[c.field], &code) != nil || code == nil {
		return errAnswer
	}
	if *code == 0 {
		return nil
	}
	_ = json.Unmarshal(fields[c.text], &text)
	err := refused(*code, text)
	switch {
	case slices.Contains(c.gone, *code):
		return channels.Permanent(err)
	case slices.Contains(c.tooFast, *code):
		return channels.RetryAfter(err, c.pause)
	}
	return err
}
