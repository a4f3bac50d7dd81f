package webpush_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/webpush"
)

const secret = "0123456789abcdefghijklmnopqrstuvwxyz"

// token is the secret part of the endpoint.
const token = "tok3n-of-the-browser"

// service is a push service and the browser that subscribed at it. It has the rules of RFC 8030
// (https://www.rfc-editor.org/rfc/rfc8030), RFC 8291 and RFC 8292.
type service struct {
	*testing.T
	web    *httptest.Server
	client *http.Client
	key    *ecdh.PrivateKey // of the browser
	auth   []byte
	server string // the key that the browser subscribed with

	mu      sync.Mutex
	got     []push
	status  int
	header  map[string]string
	text    string
	secrets int // how often the notifier asked for the secret
}

// push is a message that the browser got.
type push struct {
	TTL, Urgency, Topic string
	Sub                 string
	Content             map[string]string
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{T: t, auth: make([]byte, 16), status: http.StatusCreated}
	var err error
	s.key, err = ecdh.P256().GenerateKey(rand.Reader)
	s.must(err)
	_, _ = rand.Read(s.auth)
	s.server, err = webpush.PublicKey(secret)
	s.must(err)
	s.web = httptest.NewTLSServer(s)
	t.Cleanup(s.web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.web.Certificate())
	s.client = outbound.New(&outbound.Config{AllowPrivateNetworks: true, RootCAs: roots})
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func (s *service) must(err error) {
	if err != nil {
		s.Helper()
		s.Fatal(err)
	}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// subscription is what PushSubscription.toJSON returns.
func (s *service) subscription() string {
	return fmt.Sprintf(`{"endpoint":"%s/wpush/v2/%s","expirationTime":null,"keys":{"p256dh":"%s","auth":"%s"}}`,
		s.web.URL, token, encode(s.key.PublicKey().Bytes()), encode(s.auth))
}

func (s *service) channel() channels.Channel {
	return channels.Channel{Kind: "webpush", Settings: map[string]string{"subscription": s.subscription()}}
}

func (s *service) notifier() channels.Notifier {
	s.Helper()
	n, err := webpush.New(&webpush.Config{Client: s.client, Contact: "https://rollcall.example.org", Secret: func(context.Context) (string, error) {
		s.secrets++
		return secret, nil
	}})
	s.must(err)
	return n.Notifier
}

// ServeHTTP answers with the status of the test if the request keeps the rules.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p, status, err := s.receive(r, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.Errorf("status %d: %v", status, err)
		http.Error(w, err.Error(), status)
		return
	}
	if s.status == http.StatusCreated {
		s.got = append(s.got, p)
		w.Header().Set("Location", s.web.URL+"/m/1") // RFC 8030, section 5
	}
	for name, value := range s.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.text)
}

func (s *service) receive(r *http.Request, body []byte) (p push, status int, err error) {
	p = push{TTL: r.Header.Get("TTL"), Urgency: r.Header.Get("Urgency"), Topic: r.Header.Get("Topic")}
	seconds, err := strconv.Atoi(p.TTL)
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/wpush/v2/"+token:
		return p, http.StatusNotFound, fmt.Errorf("%s %s", r.Method, r.URL)
	case err != nil || seconds < 0: // section 5.2
		return p, http.StatusBadRequest, fmt.Errorf("TTL: %q", p.TTL)
	case !regexp.MustCompile(`^(very-low|low|normal|high)$`).MatchString(p.Urgency): // section 5.3
		return p, http.StatusBadRequest, fmt.Errorf("Urgency: %q", p.Urgency)
	case !regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(p.Topic): // section 5.4
		return p, http.StatusBadRequest, fmt.Errorf("Topic: %q", p.Topic)
	case len(body) > 4096: // section 7.2
		return p, http.StatusRequestEntityTooLarge, fmt.Errorf("%d bytes", len(body))
	case r.Header.Get("Content-Encoding") != "aes128gcm": // RFC 8291, section 4
		return p, http.StatusBadRequest, fmt.Errorf("Content-Encoding: %q", r.Header.Get("Content-Encoding"))
	}
	if p.Sub, err = s.authorized(r.Header.Get("Authorization")); err != nil {
		return p, http.StatusForbidden, err
	}
	content, err := s.decrypt(body)
	if err != nil {
		return p, http.StatusBadRequest, err
	}
	return p, 0, json.Unmarshal(content, &p.Content)
}

// authorized verifies the token by the key of the subscription (RFC 8292, sections 2, 3 and 4.2) and returns the contact.
func (s *service) authorized(header string) (sub string, err error) {
	parts := regexp.MustCompile(`^vapid t=([^,]+), k=(.+)$`).FindStringSubmatch(header)
	if parts == nil {
		return "", fmt.Errorf("Authorization: %q", header)
	}
	if parts[2] != s.server {
		return "", errors.New("the key is not that of the subscription")
	}
	point, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return "", err
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", err
	}
	var claims jwt.RegisteredClaims
	_, err = jwt.ParseWithClaims(parts[1], &claims, func(*jwt.Token) (any, error) { return key, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(s.web.URL), jwt.WithExpirationRequired())
	if err == nil && time.Until(claims.ExpiresAt.Time) > 24*time.Hour {
		err = errors.New("the token expires in more than 24 hours")
	}
	return claims.Subject, err
}

// decrypt decrypts a message as a browser does (RFC 8291, section 3.4, and RFC 8188, section 2).
func (s *service) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 {
		return nil, errors.New("the header of the message is not that of a P-256 key")
	}
	salt, size, sender, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if len(sealed) > int(size) {
		return nil, errors.New("more than one record")
	}
	other, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := s.key.ECDH(other)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(s.key.PublicKey().Bytes()) + string(sender)
	input, err := hkdf.Key(sha256.New, shared, s.auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	plain = bytes.TrimRight(plain, "\x00")
	if len(plain) == 0 || plain[len(plain)-1] != 2 { // the delimiter of the last record
		return nil, errors.New("no delimiter")
	}
	return plain[:len(plain)-1], nil
}

func down() channels.Notification {
	return channels.Notification{
		ID:     "n-1",
		Check:  channels.Check{ID: uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef"), Name: `the "nightly" <backup>`, URL: "https://rollcall.example.org/checks/1"},
		Status: channels.Down, At: time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC), Reason: "no ping in time",
	}
}

// TestNotify sends alerts that the browser can decrypt.
func TestNotify(t *testing.T) {
	s := newService(t)
	n := s.notifier()
	up := down()
	up.Status, up.Reason = channels.Up, "success"
	reminder := down()
	reminder.Reminder = 1
	for _, nt := range []channels.Notification{down(), reminder, up} {
		s.must(n.Notify(t.Context(), s.channel(), nt))
	}
	const tag = "Gqz3qXipbhUyq4-u-HM96x1-J-wPl-NI"
	of := func(title, text, urgency string) push {
		return push{
			TTL: "86400", Urgency: urgency, Topic: tag, Sub: "https://rollcall.example.org",
			Content: map[string]string{"title": title, "text": text + "\nLast ping: none", "url": "https://rollcall.example.org/checks/1", "tag": tag},
		}
	}
	want := []push{
		of(`DOWN: the "nightly" <backup>`, "Down since 2026-03-15 04:00:00 UTC: no ping in time.", "high"),
		of(`Still DOWN (reminder 1): the "nightly" <backup>`, "Down since 2026-03-15 04:00:00 UTC: no ping in time.", "high"),
		of(`UP: the "nightly" <backup>`, "Up since 2026-03-15 04:00:00 UTC: success.", "normal"),
	}
	if diff := cmp.Diff(want, s.got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	other := down()
	other.Check.ID = uuid.MustParse("01234567-89ab-cdef-0123-456789abcde0")
	s.must(n.Notify(t.Context(), s.channel(), other))
	if topic := s.got[3].Topic; topic == tag {
		t.Errorf("two checks have the topic %s", topic)
	}
	if s.secrets != 1 {
		t.Errorf("the secret was asked for %d times", s.secrets)
	}
}

// TestLongTexts sends the longest alert: texts that JSON doubles.
func TestLongTexts(t *testing.T) {
	s := newService(t)
	nt := down()
	long := strings.Repeat(`"\`, 2000)
	nt.Check.Name, nt.Check.Desc, nt.Check.Timing, nt.Check.Project, nt.Check.Tags, nt.Verdict = long, long, long, long, []string{long}, long
	nt.Ping = channels.Ping{At: nt.At, Kind: "fail", Body: []byte(long), End: []byte(long)}
	nt.Check.URL = "https://example.org/" + strings.Repeat(`"`, 480)
	s.must(s.notifier().Notify(t.Context(), s.channel(), nt))
	nt.Check.URL += "/"
	s.must(s.notifier().Notify(t.Context(), s.channel(), nt))
	if len(s.got) != 2 || len(s.got[0].Content["url"]) != 500 || s.got[1].Content["url"] != "" {
		t.Errorf("messages: %v", s.got)
	}
}

// TestAnswers checks what becomes of the answers of push services: RFC 8030, sections 5, 5.1, 7.2, 7.3 and 8.4;
// https://mozilla-services.github.io/autopush-rs/errors.html.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		status    int
		header    map[string]string
		want      string // part of the error; "" for none
		permanent bool
		after     time.Duration
	}{
		{status: 201},
		{status: 202},
		{status: 200, want: "the answer is not that of a push service: status 200"}, // the page of a proxy
		{status: 204, want: "the answer is not that of a push service: status 204"},
		{status: 400, want: "status 400"},
		{status: 403, want: "status 403"},
		{status: 404, want: "the browser has unsubscribed", permanent: true},
		{status: 410, want: "the browser has unsubscribed", permanent: true},
		{status: 413, want: "status 413", permanent: true},
		{status: 429, want: "status 429"},
		{status: 429, header: map[string]string{"Retry-After": "120"}, want: "status 429", after: 2 * time.Minute},
		{status: 503, header: map[string]string{"Retry-After": "30"}, want: "status 503", after: 30 * time.Second},
		{status: 500, want: "status 500"},
	} {
		t.Run(fmt.Sprint(test.status, test.header), func(t *testing.T) {
			s := newService(t)
			s.status, s.header = test.status, test.header
			if test.status != 204 {
				s.text = "about " + s.subscription() + " and " + token
			}
			err := s.notifier().Notify(t.Context(), s.channel(), down())
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error: %v, want %q", err, test.want)
			}
			if channels.IsPermanent(err) != test.permanent {
				t.Errorf("permanent is %v", !test.permanent)
			}
			if after, _ := channels.RetryDelay(err); after != test.after {
				t.Errorf("retry after %s, want %s", after, test.after)
			}
			s.leaksNothing(err)
		})
	}
}

// leaksNothing fails the test if an error has a part of the subscription or of the key.
func (s *service) leaksNothing(err error) {
	s.Helper()
	for _, part := range []string{token, encode(s.auth), encode(s.key.PublicKey().Bytes()), secret, "eyJ"} {
		if err != nil && strings.Contains(err.Error(), part) {
			s.Errorf("the error contains %q: %v", part, err)
		}
	}
}

// TestFailures checks errors without an answer.
func TestFailures(t *testing.T) {
	s := newService(t)
	n, err := webpush.New(&webpush.Config{Secret: func(context.Context) (string, error) { return secret, nil }})
	s.must(err)
	err = n.Notifier.Notify(t.Context(), s.channel(), down())
	if !errors.Is(err, outbound.ErrPrivateAddress) || channels.IsPermanent(err) {
		t.Errorf("private address: %v", err)
	}
	s.leaksNothing(err)

	away := errors.New("the database is away")
	n, err = webpush.New(&webpush.Config{Client: s.client, Secret: func(context.Context) (string, error) { return secret[:31], away }})
	s.must(err)
	if err = n.Notifier.Notify(t.Context(), s.channel(), down()); !errors.Is(err, away) || channels.IsPermanent(err) {
		t.Errorf("no secret: %v", err)
	}
	away = nil
	if err = n.Notifier.Notify(t.Context(), s.channel(), down()); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("short secret: %v", err)
	}
	s.leaksNothing(err)

	s.web.Close()
	err = s.notifier().Notify(t.Context(), s.channel(), down())
	if err == nil || channels.IsPermanent(err) {
		t.Errorf("no connection: %v", err)
	}
	s.leaksNothing(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.notifier().Notify(ctx, s.channel(), down()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNew(t *testing.T) {
	some := func(context.Context) (string, error) { return secret, nil }
	for name, config := range map[string]*webpush.Config{
		"no secret": {}, "http": {Secret: some, Contact: "http://example.org"}, "mailto": {Secret: some, Contact: "mailto:a@example.org"},
		"no address": {Secret: some, Contact: "example.org"}, "a name": {Secret: some, Contact: "A <a@example.org>"},
	} {
		if _, err := webpush.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := newService(t)
	for contact, sub := range map[string]string{"": "https://github.com/rollcall-dev/rollcall", "ops@example.org": "mailto:ops@example.org"} {
		n, err := webpush.New(&webpush.Config{Secret: some, Contact: contact, Client: s.client})
		s.must(err)
		s.must(n.Notifier.Notify(t.Context(), s.channel(), down()))
		if got := s.got[len(s.got)-1].Sub; got != sub {
			t.Errorf("contact %q is sub %q, want %q", contact, got, sub)
		}
	}
}

// TestPublicKey checks that the key of a secret stays the same, because a subscription belongs to it.
func TestPublicKey(t *testing.T) {
	got, err := webpush.PublicKey(secret)
	if want := "BJyVY1F5hWZITWx1UzOh_eoT4Bxn7mEXAqgZOZvH8XQpfW-FcesakbwH4o9EWojMgCA_5TdA6hjwQarRqeoA3mc"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := webpush.PublicKey(secret[:31]); err == nil {
		t.Error("a short secret has a key")
	}
}

// TestSubscriptions checks which settings are refused, without their values in the error.
func TestSubscriptions(t *testing.T) {
	s := newService(t)
	good := s.subscription()
	kind, err := webpush.New(nil)
	s.must(err)
	kinds := []channels.Type{kind}
	check := func(text string) error {
		_, err := channels.Validate(kinds, "webpush", map[string]string{"subscription": text}, nil)
		return err
	}
	p256dh, auth := encode(s.key.PublicKey().Bytes()), encode(s.auth)
	padded := strings.NewReplacer(p256dh, p256dh+"=", auth, auth+"==").Replace(good)
	for _, text := range []string{good, padded, strings.ReplaceAll(good, ",", ",\n")} {
		s.must(check(text))
	}
	for name, text := range map[string]string{
		"empty":       "",
		"a URL":       s.web.URL + "/" + token,
		"null":        "null",
		"no endpoint": `{"keys":{"p256dh":"` + p256dh + `","auth":"` + auth + `"}}`,
		"http":        strings.Replace(good, "https:", "http:", 1),
		"credentials": strings.Replace(good, "https://", "https://me:"+token+"@", 1),
		"no host":     strings.Replace(good, s.web.URL, "https://", 1),
		"no point":    strings.Replace(good, p256dh, encode(bytes.Repeat([]byte{4}, 65)), 1),
		"compressed":  strings.Replace(good, p256dh, encode(s.key.PublicKey().Bytes()[:33]), 1),
		"short auth":  strings.Replace(good, auth, encode(s.auth[:15]), 1),
		"no auth":     strings.Replace(good, auth, "", 1),
	} {
		err := check(text)
		if _, ok := errors.AsType[*channels.SettingError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		s.leaksNothing(err)
	}
	s.secretsOfKind()
}

// secretsOfKind fails the test unless the subscription is a secret that pages offer to make.
func (s *service) secretsOfKind() {
	s.Helper()
	kind, err := webpush.New(nil)
	s.must(err)
	if setting := kind.Settings[0]; kind.Notifier != nil || kind.Missing == "" || !setting.Secret || !setting.Subscription || setting.KeepsSecrets {
		s.Errorf("the setting is %+v", setting)
	}
}
