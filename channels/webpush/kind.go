package webpush

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	library "github.com/SherClockHolmes/webpush-go"

	"github.com/rollcall-dev/rollcall/channels"
)

// kind describes the kind and its setting: subscription.
func kind() channels.Type {
	return channels.Type{
		Kind: "webpush", Title: "Web Push", Category: channels.CategoryPush, Combines: true,
		Doc: "Shows alerts as notifications of a browser, also while no page is open. Each browser, on a phone too, is an integration.",
		Settings: []channels.Setting{{
			Name: "subscription",
			Doc: "The subscription of the browser: JSON with endpoint and keys. The dashboard fills it in with the button Subscribe this browser. " +
				"It is of use to this server alone.",
			Required: true, Secret: true, Subscription: true, Check: checkSubscription,
		}},
		Setup: "Open this page in the browser that shall show the alerts, and press Subscribe this browser. On an iPhone or iPad, first add the " +
			"page to the Home Screen and open it from there.",
		Preview: func(_ channels.Channel, n channels.Notification) string {
			title, text := content(n)
			return title + "\n" + text
		},
	}
}

func checkSubscription(value string) error {
	_, err := parse(value)
	return err
}

// parse reads a subscription (Push API, section 8, PushSubscriptionJSON). Its errors do not repeat the value.
func parse(value string) (*library.Subscription, error) {
	var s library.Subscription
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		return nil, errors.New("is not the JSON of a subscription")
	}
	u, err := url.Parse(s.Endpoint)
	switch {
	case s.Endpoint == "":
		return nil, errors.New("has no endpoint")
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return nil, errors.New("has an endpoint that is not an https URL without credentials and fragment")
	}
	point, err := decode(s.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return nil, errors.New("has no valid key p256dh")
	}
	if auth, err := decode(s.Keys.Auth); err != nil || len(auth) != 16 {
		return nil, errors.New("has no valid key auth")
	}
	return &s, nil
}

// decode decodes base64url, with or without padding.
func decode(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}
