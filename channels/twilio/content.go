package twilio

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	// maxBody is the maximum length of a message, which Twilio counts in characters.
	maxBody = 1600
	// maxVariable is the maximum length of a variable of a template, in characters. WhatsApp allows 1,024 for the text of a
	// template with its variables.
	maxVariable = 400
	// maxSpoken is the maximum length of what a call reads, in characters. Escaped, they fit the 4,000 characters of TwiML.
	maxSpoken = 600
	// defaultVariables are those of a template without content_variables.
	defaultVariables = `{"1": "$TITLE", "2": "$TEXT"}`
)

// form returns the parameters of a new message or call.
func form(from account, c channels.Channel, n channels.Notification) url.Values {
	f := url.Values{"To": {c.Settings["to"]}}
	if from.service != "" {
		f.Set("MessagingServiceSid", from.service)
	} else {
		f.Set("From", from.from)
	}
	switch c.Kind {
	case channels.Call:
		f.Set("Twiml", twiml(n))
	case channels.WhatsApp:
		f.Set("To", "whatsapp:"+c.Settings["to"])
		if from.service == "" {
			f.Set("From", "whatsapp:"+from.from)
		}
		if from.template == "" {
			f.Set("Body", freeText(n))
			break
		}
		f.Set("ContentSid", from.template)
		f.Set("ContentVariables", fill(from.variables, n))
	default:
		f.Set("Body", textOf(n))
	}
	return f
}

// textOf returns the text message for a notification, at most three segments: its title, since when, and why.
func textOf(n channels.Notification) string {
	return fit(message.Title(n) + "\n" + message.Short(n))
}

// fill returns the variables of a template. WhatsApp refuses line breaks and empty values in them.
func fill(variables string, n channels.Notification) string {
	if variables == "" {
		variables = defaultVariables
	}
	var values map[string]string
	_ = json.Unmarshal([]byte(variables), &values) // its check accepted it
	placeholders := strings.NewReplacer(
		"$TITLE", message.Title(n), "$TEXT", message.Short(n), "$NAME", message.Name(n.Check), "$STATUS", string(n.Status), "$REASON", n.Reason,
	)
	for key, value := range values {
		if values[key] = prose.Line(placeholders.Replace(value), maxVariable); values[key] == "" {
			values[key] = "-"
		}
	}
	text, _ := json.Marshal(values) // texts always encode
	return string(text)
}

// twiml returns the instructions of a call: read the alert twice, after a moment in which the phone reaches the ear.
func twiml(n channels.Notification) string {
	var b strings.Builder
	b.WriteString(`<Response><Pause length="1"/><Say language="en-US" loop="2">`)
	_ = xml.EscapeText(&b, []byte(spoken(n))) // a Builder never fails
	b.WriteString(`</Say></Response>`)
	return b.String()
}

// spoken returns what a call reads.
func spoken(n channels.Notification) string {
	return prose.Line("Rollcall alert. "+message.Title(n)+". "+message.Short(n), maxSpoken)
}

// freeText returns a WhatsApp message without a template.
func freeText(n channels.Notification) string {
	title, text := message.Render(n, nil, maxBody)
	return title + "\n" + text
}

// preview returns what the phone gets; of a template, the variables.
func (t *notifier) preview(c channels.Channel, n channels.Notification) string {
	from, _ := t.account(c) // without one, a message is free text
	switch {
	case c.Kind == channels.Call:
		return spoken(n)
	case c.Kind == channels.SMS:
		return textOf(n)
	case from.template == "":
		return freeText(n)
	}
	return fill(from.variables, n)
}
