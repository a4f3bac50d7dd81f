package services

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// key returns the key of the incident: that of the open one, or else the UUID of the check. It is the same for every
// outage, so an alert that is up closes whatever is open.
func (m *delivery) key() string { return cmp.Or(m.open, m.n.Check.ID.String()) }

// settle sets m.open after an attempt to open or close the incident with a key, and returns err. After an error that is
// no refusal, such as a lost answer, the incident may be open: closing it later does no harm if it is not.
func (m *delivery) settle(key string, err error) error {
	switch {
	case !m.isUp() && (err == nil || !isRefusal(err)):
		m.open = key
	case m.isUp() && err == nil:
		m.open = ""
	}
	return err
}

// isRefusal reports whether the receiver certainly did nothing: it answered that the request is wrong, or no request was
// made.
func isRefusal(err error) bool {
	status, answered := errors.AsType[*outbound.StatusError](err)
	return answered && status.Status < 500 || errors.Is(err, outbound.ErrPrivateAddress)
}

// hasStatus reports whether err is the answer of a receiver with one of the statuses.
func hasStatus(err error, statuses ...int) bool {
	answer, found := errors.AsType[*outbound.StatusError](err)
	for _, status := range statuses {
		if found && answer.Status == status {
			return true
		}
	}
	return false
}

// checkEvent returns the error of an answer that does not say that an event was accepted, by status 202 and its document.
func checkEvent(res *http.Response, body []byte) error {
	var answer struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	switch {
	case res.StatusCode != http.StatusAccepted || json.Unmarshal(body, &answer) != nil || answer.Status == "":
		return errAnswer
	case answer.Status != "success":
		return refused(answer.Status, answer.Message)
	}
	return nil
}
