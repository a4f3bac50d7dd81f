package services

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

// codes describes the answers of a service that reports success and errors by a code in JSON, mostly with status 200.
type codes struct {
	field, text string // the names of the code, which is 0 for success, and of its text
	gone        []int  // no retry cures these errors
	tooFast     []int  // these ask for the pause
	pause       time.Duration
}

// check returns the error of an answer. err is that of its status.
func (c codes) check(answer []byte, err error) error {
	var fields map[string]json.RawMessage
	var code *int
	if json.Unmarshal(answer, &fields) != nil || json.Unmarshal(fields[c.field], &code) != nil || code == nil {
		if err != nil {
			return err
		}
		return errAnswer
	}
	if *code == 0 {
		return err
	}
	if err == nil {
		var text string
		_ = json.Unmarshal(fields[c.text], &text)
		err = refused(*code, text)
	}
	switch {
	case slices.Contains(c.gone, *code):
		return channels.Permanent(err)
	case slices.Contains(c.tooFast, *code):
		return channels.RetryAfter(err, c.pause)
	}
	return err
}
