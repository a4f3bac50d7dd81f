package mqtt

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

// kind describes the kind and its settings: broker_url, topic, username, password, payload and retain.
func kind() channels.Type {
	return channels.Type{
		Kind: "mqtt", Title: "MQTT", Category: channels.CategoryCustom,
		Doc: "Publishes to a topic of an MQTT 5 broker.",
		Settings: []channels.Setting{
			{
				Name: "broker_url", Doc: "The URL of the broker, such as mqtts://mqtt.example.org:8883. mqtt is without encryption.",
				Required: true, Check: checkBroker,
			},
			{
				Name: "topic", Doc: "The topic, such as alerts/$SLUG. $UUID and $SLUG are replaced by the check's, " +
					"an empty slug by the UUID. Checks with the same slug share a topic.",
				Required: true, KeepsSecrets: true, Check: checkTopic,
			},
			{Name: "username", Doc: "The user name.", KeepsSecrets: true, Check: checkUser},
			{Name: "password", Doc: "The password.", Secret: true},
			{
				Name: "payload", Doc: "The payload: json, a document with all fields, or text.",
				Default: "json", Options: []string{"json", "text"}, KeepsSecrets: true,
			},
			{
				Name: "retain", Doc: "yes makes the broker keep the last message of the topic for those who subscribe later.",
				Default: "no", Options: []string{"yes", "no"}, KeepsSecrets: true,
			},
		},
		Preview: func(c channels.Channel, n channels.Notification) string {
			content, _ := payload(c.Settings, n) // texts always encode
			var lines bytes.Buffer
			_ = json.Indent(&lines, content, "", "  ") // of what was encoded
			return "Topic: " + topic(c.Settings["topic"], n.Check) + "\n\n" + lines.String()
		},
		Check: func(settings map[string]string) *channels.SettingError {
			if settings["password"] != "" && settings["username"] == "" {
				return &channels.SettingError{Setting: "username", Reason: "is missing, password needs it"}
			}
			return nil
		},
	}
}

func checkBroker(value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme != "mqtt" && u.Scheme != "mqtts":
		return errors.New("is not an mqtt:// or mqtts:// URL")
	case u.Hostname() == "":
		return errors.New("has no host")
	case u.User != nil:
		return errors.New("contains credentials")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("has a path, a query or a fragment")
	}
	return nil
}

func checkTopic(value string) error {
	switch {
	case len(value) > 1000:
		return errors.New("is too long, the maximum is 1000 bytes")
	case strings.ContainsAny(value, "+#"):
		return errors.New("contains a wildcard, + or #")
	case strings.HasPrefix(value, "$") && !strings.HasPrefix(value, "$UUID") && !strings.HasPrefix(value, "$SLUG"):
		return errors.New("begins with $, which is for the broker")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("contains a control character")
	}
	return nil
}

func checkUser(value string) error {
	if len(value) > 1000 {
		return errors.New("is too long, the maximum is 1000 bytes")
	}
	return nil
}
