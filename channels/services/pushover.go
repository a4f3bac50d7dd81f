package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

const pushoverAPI = "https://api.pushover.net/1"

// pushoverEmergency is the priority of messages that Pushover repeats until someone acknowledges them.
const pushoverEmergency = 2

func pushoverService() service {
	key := pattern(`[A-Za-z0-9]{30}`, "is not a key, which has 30 letters and digits")
	return service{
		info: channels.Type{
			Kind: "pushover", Title: "Pushover", Category: channels.CategoryPush,
			Doc: "Sends a push message through Pushover. With priority 2 Pushover repeats the message until someone " +
				"acknowledges it, until it expires, or until the check is up again.",
			Setup: "Sign in to https://pushover.net: the page shows your user key. Under Your Applications, create an application; its " +
				"page shows the API token.",
			Settings: []channels.Setting{
				secret("token", "The API token of the application.", key),
				secret("user", "The key of the user or group.", key),
				optional("devices", "The names of the devices, separated by commas; all of them by default.",
					each(pattern(`[\w-]{1,25}`, "has a device that is not 1 to 25 letters, digits, _ and -"))),
				withDefault(optional("priority", "The priority if the check is down, from -2 (silent) to 1 (high) and 2 (emergency).",
					number(-2, 2)), "0"),
				optional("priority_up", "The priority if the check is up again, from -2 to 1. By default that of priority, "+
					"but at most 0.", number(-2, 1)),
				withDefault(optional("retry", "With priority 2, how often the message is repeated, in seconds: 30 to 10800.",
					number(30, 10800)), "60"),
				withDefault(optional("expire", "With priority 2, how long the message is repeated, in seconds: 30 to 10800.",
					number(30, 10800)), "3600"),
			},
		},
		limit:     1024,
		incidents: true, // what is open is a message that Pushover repeats
		send: func(ctx context.Context, m *delivery) error {
			if m.isUp() {
				return endPushover(ctx, m)
			}
			form := pushoverMessage(m)
			err := postPushover(ctx, m, "messages.json", form)
			if form.Has("tags") {
				return m.settle(m.key(), err)
			}
			return err
		},
	}
}

// endPushover ends the repetitions of the check's messages, and sends the message that the check is up.
func endPushover(ctx context.Context, m *delivery) error {
	const cancel, message = "cancel", "message"
	var parts []string
	if m.open != "" || m.settings["priority"] == strconv.Itoa(pushoverEmergency) {
		parts = append(parts, cancel)
	}
	if !m.n.Closed {
		parts = append(parts, message)
	}
	return channels.Each(m.n, parts, func(part string) error {
		if part == message {
			return postPushover(ctx, m, "messages.json", pushoverMessage(m))
		}
		err := postPushover(ctx, m, "receipts/cancel_by_tag/"+url.PathEscape(m.key())+".json", url.Values{"token": {m.settings["token"]}})
		return m.settle(m.key(), err)
	})
}

func pushoverMessage(m *delivery) url.Values {
	priority, _ := strconv.Atoi(m.settings["priority"])
	switch {
	case m.isUp():
		priority = upPriority(m, priority, 0)
	case !m.n.Over.IsZero(): // nothing would end an emergency that is already over
		priority = min(priority, pushoverEmergency-1)
	}
	form := url.Values{
		"token": {m.settings["token"]}, "user": {m.settings["user"]},
		"title": {m.title}, "message": {m.text}, "priority": {strconv.Itoa(priority)},
	}
	if devices := list(m.settings["devices"]); len(devices) > 0 {
		form.Set("device", strings.Join(devices, ","))
	}
	if m.hasPage() && len(m.n.Check.URL) <= 512 {
		form.Set("url", m.n.Check.URL)
		form.Set("url_title", "Show the check")
	}
	if priority == pushoverEmergency {
		form.Set("retry", m.settings["retry"])
		form.Set("expire", m.settings["expire"])
		form.Set("tags", m.key())
	}
	return form
}

// postPushover makes one request of Pushover's API.
func postPushover(ctx context.Context, m *delivery, path string, form url.Values) error {
	res, answer, err := m.fetch(ctx, request{url: pushoverAPI + "/" + path, form: form})
	var result struct {
		Status *int     `json:"status"`
		Errors []string `json:"errors"`
	}
	parsed := json.Unmarshal(answer, &result) == nil && result.Status != nil
	status, failed := errors.AsType[*outbound.StatusError](err)
	switch {
	case failed && status.Status == http.StatusTooManyRequests:
		return resetAt(err, m.now(), res.Header.Get("X-Limit-App-Reset"))
	case failed && parsed && status.Status >= 400 && status.Status <= 499:
		return channels.Permanent(err) // no retry of the same request will work
	case err != nil:
		return err
	case !parsed:
		return errAnswer
	case *result.Status != 1:
		return refused(*result.Status, strings.Join(result.Errors, ", "))
	}
	return nil
}

// resetAt marks an error with the pause until a limit is reset, a Unix time in a header, unless the error has a pause.
// The pause is at most 24 hours.
func resetAt(err error, now time.Time, header string) error {
	if _, marked := channels.RetryDelay(err); marked {
		return err
	}
	seconds, parseErr := strconv.ParseInt(strings.TrimSpace(header), 10, 64)
	if parseErr != nil {
		return err
	}
	after := min(time.Unix(seconds, 0).Sub(now), 24*time.Hour)
	if after <= 0 {
		return err
	}
	return channels.RetryAfter(err, after)
}
