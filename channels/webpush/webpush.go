// Package webpush sends notifications to browsers by Web Push (RFC 8030), encrypted for the browser (RFC 8291) and signed
// by a key of the server (VAPID, RFC 8292):
//
//	config := &webpush.Config{Secret: func(ctx context.Context) (string, error) { return mon.Secret(ctx, "webpush_key") }}
//	pusher, err := webpush.New(config)
//
// A browser subscribes with the public key of the server, which [PublicKey] returns. Package server/dashboard has the page
// and the service worker for that. The result is a JSON document, the setting subscription.
//
// # Messages
//
// The browser's service worker gets a JSON document. All fields may be empty, and others may be added:
//
//	{"title": "DOWN: nightly backup", "text": "Down since …", "url": "https://…", "tag": "Gqz3qXipbhUyq4-u-HM96x1-J-wPl-NI"}
//
// The tag is a hash of the UUID of the check, and also the Topic of the message: a newer alert about the check replaces one that has
// not been delivered yet. A message about several checks replaces none. The push service, which cannot read messages, does not learn the UUID, which takes
// pings. It keeps a message for one day for an offline browser. Alerts that a check is down have the urgency high.
package webpush

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"sync"
	"time"

	library "github.com/SherClockHolmes/webpush-go"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// defaultContact is the default of Config.Contact.
const defaultContact = "https://github.com/rollcall-dev/rollcall"

const (
	// keep is how long a push service keeps a message for an offline browser.
	keep = 24 * time.Hour
	// maxText bounds title and text together, and maxURL the address, in bytes. JSON doubles both at most, so the message
	// stays within the 3,993 bytes that every push service takes (RFC 8030, section 7.2, and RFC 8291, section 4).
	maxText, maxURL = 1400, 500
)

// Config configures the notifier. The zero value of a field means its default.
type Config struct {
	// Secret returns the secret that the server's key is made of, at least 32 bytes, such as that of Installation.Secret of package monitor. Each
	// subscription belongs to one key, so the secret must never change. A secret without an error is asked for once.
	// Required.
	Secret func(ctx context.Context) (string, error)
	// Contact is where push services reach the operator: an https URL or an e-mail address (RFC 8292, section 2.1). Apple
	// refuses messages with a host that is not public. Default: the page of Rollcall.
	Contact string
	// Client makes the requests. Default: outbound.New(nil), which refuses private networks.
	Client *http.Client
}

// New returns the kind "webpush" with its notifier. With a nil config, there is no key, and the kind has no notifier. The
// error names the field of the configuration that is wrong.
//
// A delivery fails for good if the push service says that the browser has unsubscribed, or that the message is too large.
// It waits for as long as a Retry-After header asks for. Other errors are retried.
func New(config *Config) (channels.Type, error) {
	t := kind()
	if config == nil {
		t.Missing = "no key for Web Push is configured on this server"
		return t, nil
	}
	if config.Secret == nil {
		return channels.Type{}, errors.New("webpush: Secret is required")
	}
	n := &notifier{config: *config}
	n.config.Contact = cmp.Or(n.config.Contact, defaultContact)
	if !isContact(n.config.Contact) {
		return channels.Type{}, fmt.Errorf("webpush: Contact is neither an https URL nor an e-mail address: %q", n.config.Contact)
	}
	if n.config.Client == nil {
		n.config.Client = outbound.New(nil)
	}
	t.Notifier = n
	return t, nil
}

func isContact(text string) bool {
	if u, err := url.Parse(text); err == nil && u.Scheme == "https" {
		return u.Host != ""
	}
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text // no name and no brackets
}

type notifier struct {
	config Config

	mu  sync.Mutex
	key key // zero until it is known
}

func (n *notifier) Notify(ctx context.Context, c channels.Channel, nt channels.Notification) error {
	settings, err := channels.Validate([]channels.Type{kind()}, kind().Kind, c.Settings, nil)
	if err != nil {
		return err
	}
	subscription, err := parse(settings["subscription"])
	if err != nil {
		return err
	}
	k, err := n.serverKey(ctx)
	if err != nil {
		return fmt.Errorf("the server's key for Web Push cannot be read: %w", err)
	}
	topic := topicOf(nt.Check)
	content, err := payload(nt, topic)
	if err != nil {
		return channels.Permanent(err)
	}
	urgency := library.UrgencyHigh
	if nt.Status == channels.Up {
		urgency = library.UrgencyNormal
	}
	secrets := append(kind().Secrets(c), subscription.Endpoint, subscription.Keys.P256dh, subscription.Keys.Auth)
	_, err = library.SendNotificationWithContext(ctx, content, subscription, &library.Options{
		HTTPClient: client{n.config.Client, secrets}, Subscriber: n.config.Contact, VAPIDPublicKey: k.public, VAPIDPrivateKey: k.private,
		TTL: int(keep / time.Second), Topic: topic, Urgency: urgency,
	})
	return outbound.Redact(outbound.Clean(err), secrets...)
}

// topicOf returns the topic of the messages about a check: 32 characters of base64url, the most that RFC 8030, section 5.4,
// allows.
func topicOf(c channels.Check) string {
	sum := sha256.Sum256([]byte("rollcall topic " + c.ID.String()))
	return encode(sum[:24])
}

// serverKey returns the key pair of the server.
func (n *notifier) serverKey(ctx context.Context) (key, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.key != (key{}) {
		return n.key, nil
	}
	secret, err := n.config.Secret(ctx)
	if err != nil {
		return key{}, err
	}
	n.key, err = newKey(secret)
	return n.key, err
}

// payload returns the document that the package comment documents. The address is the field url, and not in the text.
func payload(n channels.Notification, tag string) ([]byte, error) {
	page := n.Check.URL
	if len(page) > maxURL {
		page = ""
	}
	title, text := content(n)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Title string `json:"title"`
		Text  string `json:"text"`
		URL   string `json:"url"`
		Tag   string `json:"tag"`
	}{title, text, page, tag})
	return b.Bytes(), err
}

// content returns title and text of a notification. Its address is not in the text.
func content(n channels.Notification) (title, text string) {
	n.Check.URL = ""
	return message.Render(n, nil, maxText)
}

// client sends the request of the library through the outbound client, and judges the answer.
type client struct {
	*http.Client
	secrets []string
}

func (c client) Do(req *http.Request) (*http.Response, error) {
	res, _, err := outbound.Exchange(c.Client, req, c.secrets...)
	if res == nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusCreated, http.StatusAccepted: // RFC 8030, sections 5 and 5.1
		return res, nil
	case http.StatusNotFound, http.StatusGone: // RFC 8030, section 7.3, and what the services answer
		return res, channels.Permanent(fmt.Errorf("the browser has unsubscribed: %w", err))
	case http.StatusRequestEntityTooLarge:
		return res, channels.Permanent(err)
	}
	if err == nil {
		err = fmt.Errorf("the answer is not that of a push service: status %d in place of 201", res.StatusCode)
	}
	return res, err
}
