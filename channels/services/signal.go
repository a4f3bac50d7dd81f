package services

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

func signalService() service {
	return service{
		info: channels.Type{
			Kind: "signal", Title: "Signal", Category: channels.CategoryChat,
			Doc: "Sends Signal messages through a signal-cli-rest-api server. " +
				"Credentials are either token, or username and password.",
			Setup: "Alerts go through a signal-cli-rest-api server, which you run yourself. Register a number there or link it to your " +
				"phone; its documentation says how, and how it lists the IDs of groups.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the server.", serverWithout("/v1/send", "/v2/send"))),
				required("number", "The phone number to send from, in international form.", phone),
				required("recipients", "The phone numbers, user names or groups (group.…), separated by commas.", each(text)),
				notRequired(secret("token", "The bearer token.", token)),
				optional("username", "The user name for basic authentication.", user),
				notRequired(secret("password", "The password for basic authentication.", nil)),
			},
			Check: tokenOrPassword,
		},
		send: func(ctx context.Context, m *delivery) error {
			results := make(map[string]error)
			for _, batch := range signalBatches(m.n, list(m.settings["recipients"])) {
				for i, err := range sendSignal(ctx, m, batch) {
					results[batch[i]] = err
				}
			}
			return m.each("recipients", func(recipient string) error { return results[recipient] })
		},
	}
}

// signalBatches returns the recipients that a notification is for in requests that the server accepts: each group alone,
// all numbers together and all user names together.
func signalBatches(n channels.Notification, recipients []string) [][]string {
	var batches [][]string
	var numbers, names []string
	for _, r := range recipients {
		_, err := uuid.Parse(r)
		switch {
		case len(n.To([]string{doneName(r)})) == 0:
		case signalGroup(r):
			batches = append(batches, []string{r})
		case err == nil, strings.HasPrefix(r, "+") && strings.Trim(r, "+0123456789 ") == "":
			numbers = append(numbers, r)
		default:
			names = append(names, r)
		}
	}
	for _, batch := range [][]string{numbers, names} {
		if len(batch) > 0 {
			batches = append(batches, batch)
		}
	}
	return batches
}

func signalGroup(recipient string) bool { return strings.HasPrefix(recipient, "group.") }

// sendSignal sends one request and returns the error for each recipient. Members of a group who cannot be reached are
// no error, because the others have the message.
func sendSignal(ctx context.Context, m *delivery, recipients []string) []error {
	header := m.authorize(nil)
	answer, err := m.do(ctx, request{url: join(m.settings["server_url"], "v2", "send"), header: header, json: map[string]any{
		"message": m.titleAndText(), "number": m.settings["number"], "recipients": recipients,
		"text_mode": "normal", // the server's default can be "styled", which has markup
	}})
	var failed []signalFailure
	if err == nil {
		failed, err = signalFailures(answer)
	}
	errs := slices.Repeat([]error{err}, len(recipients))
	if signalGroup(recipients[0]) {
		return errs
	}
	for _, f := range failed {
		i := slices.IndexFunc(recipients, f.is)
		for j := range errs {
			if i < 0 || i == j { // a failure of nobody known may be of anybody
				errs[j] = f.err()
			}
		}
	}
	return errs
}

// A signalFailure is a recipient that the server could not reach.
type signalFailure struct{ UUID, Number, Username, Reason string }

// is reports whether the failure is that of a recipient.
func (f signalFailure) is(recipient string) bool {
	recipient = strings.ReplaceAll(recipient, " ", "")
	return slices.ContainsFunc([]string{f.UUID, f.Number, f.Username}, func(name string) bool {
		return strings.EqualFold(name, recipient)
	})
}

func (f signalFailure) err() error {
	err := errors.New("the message was not delivered: " + prose.Line(f.Reason, 50))
	if f.Reason == "UNREGISTERED_FAILURE" {
		return channels.Permanent(err)
	}
	return err
}

// signalFailures reads an answer: a list with one result, or the result alone, from servers up to 0.100.
func signalFailures(answer []byte) ([]signalFailure, error) {
	type result struct {
		Timestamp string
		Errors    struct{ Recipients []signalFailure }
	}
	results := make([]result, 1)
	if json.Unmarshal(answer, &results[0]) != nil && json.Unmarshal(answer, &results) != nil {
		return nil, errAnswer
	}
	if len(results) != 1 || results[0].Timestamp == "" {
		return nil, errAnswer
	}
	return results[0].Errors.Recipients, nil
}
