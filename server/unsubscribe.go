package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"net/mail"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

const (
	unsubscribePath    = "/unsubscribe"
	unsubscribeMethods = "GET, HEAD, POST"
	// maxToken is the length of a token for the longest address.
	maxToken = 600
)

// unsubscribeFile is the page, with its style sheet, which has few rules and needs no file.
//
//go:embed unsubscribe.html
var unsubscribeFile string

var unsubscribePage = template.Must(template.New("unsubscribe").Parse(unsubscribeFile))

// pageStyle is the style sheet of the pages of links in alerts.
var pageStyle = func() string {
	_, style, _ := strings.Cut(unsubscribeFile, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	return style
}()

// unsubscribePolicy lets such a page use its style and send its form, and nothing else.
var unsubscribePolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
}()

// unsubscription is what a token stands for: an address of an integration.
type unsubscription struct {
	project, channel uuid.UUID
	address          string
}

// UnsubscribeURL returns the URL at which an address takes itself off an integration of kind email, for the field
// Unsubscribe of email.Config. It is "" if Config.BaseURL is not https, which RFC 8058 requires, or if the signing key
// cannot be read from the database.
//
// Anyone who knows the URL can take the address off. A GET shows a page with a button; a POST adds the address to the
// setting unsubscribed of the integration.
func (s *Server) UnsubscribeURL(ctx context.Context, c channels.Channel, address string) string {
	if s.base.Scheme != "https" {
		return ""
	}
	token, err := s.sealUnsubscription(ctx, unsubscription{c.ProjectID, c.ID, address})
	if err != nil {
		s.log.WarnContext(ctx, "an e-mail has no link to unsubscribe", "error", err)
		return ""
	}
	return s.base.Text + unsubscribePath + "/" + token
}

// unsubscribe shows the page or, for a POST, takes the address off and says so. It never redirects (RFC 8058, section
// 3.1). The body of the POST does not matter: the token is enough.
func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request, path string) {
	setRoute(w, routeUnsubscribe)
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		w.Header().Set("Allow", unsubscribeMethods)
		s.fail(w, r, errMethod)
		return
	}
	r, cancel := limit.Detach(r)
	defer cancel()
	page, err := s.applyUnsubscription(r, strings.TrimPrefix(path, unsubscribePath+"/"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var b bytes.Buffer
	if err := unsubscribePage.Execute(&b, page); err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", unsubscribePolicy)
	write(w, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}

type unsubscribeView struct {
	Name, Address string
	Subscribed    bool
}

// subscribed reports whether an address gets the alerts of an e-mail integration.
func subscribed(settings map[string]string, address string) bool {
	is := func(a *mail.Address) bool { return strings.EqualFold(a.Address, address) }
	to, _ := mail.ParseAddressList(settings["to"])
	gone, _ := mail.ParseAddressList(settings["unsubscribed"]) // nil if it is empty
	return slices.ContainsFunc(to, is) && !slices.ContainsFunc(gone, is)
}

// unsubscribe changes the settings of an e-mail integration so that a subscribed address gets no more of its alerts.
func unsubscribe(settings map[string]string, address string) {
	to, _ := mail.ParseAddressList(settings["to"])
	gone, _ := mail.ParseAddressList(settings["unsubscribed"])
	in := func(list []*mail.Address, address string) int {
		return slices.IndexFunc(list, func(a *mail.Address) bool { return strings.EqualFold(a.Address, address) })
	}
	// Addresses that are no longer in "to" need no entry; they would fill the setting.
	gone = slices.DeleteFunc(gone, func(a *mail.Address) bool { return in(to, a.Address) < 0 })
	var texts []string
	for _, a := range append(gone, to[in(to, address)]) {
		texts = append(texts, strings.Trim((&mail.Address{Address: a.Address}).String(), "<>"))
	}
	settings["unsubscribed"] = strings.Join(texts, ", ")
}

// errNotSubscribed ends an update that has nothing to do.
var errNotSubscribed = errors.New("the address is not subscribed")

// applyUnsubscription takes the address off after a POST, and returns the page about it. A bad token, and one for an
// integration that no longer exists, is [checks.ErrNotFound].
func (s *Server) applyUnsubscription(r *http.Request, token string) (unsubscribeView, error) {
	u, err := s.openUnsubscription(r.Context(), token)
	if err != nil {
		return unsubscribeView{}, err
	}
	if r.Method == http.MethodPost {
		address, _ := s.proxies.Of(r)
		ctx := audit.WithActor(r.Context(), audit.Actor{Kind: audit.Person, Name: u.address, Address: address})
		_, err := s.mon.Project(u.project).UpdateChannel(ctx, u.channel, func(c channels.Channel) (channels.Channel, error) {
			if c.Kind != channels.Email || !subscribed(c.Settings, u.address) {
				return c, errNotSubscribed
			}
			unsubscribe(c.Settings, u.address)
			return c, nil
		})
		if err != nil && !errors.Is(err, errNotSubscribed) {
			return unsubscribeView{}, err
		}
	}
	list, err := s.mon.Project(u.project).Channels(r.Context())
	if err != nil {
		return unsubscribeView{}, err
	}
	i := slices.IndexFunc(list, func(c channels.Channel) bool { return c.ID == u.channel && c.Kind == channels.Email })
	if i < 0 {
		return unsubscribeView{}, checks.ErrNotFound
	}
	return unsubscribeView{Name: list[i].Name, Address: u.address, Subscribed: subscribed(list[i].Settings, u.address)}, nil
}

func (s *Server) sealUnsubscription(ctx context.Context, u unsubscription) (string, error) {
	message := slices.Concat(u.project[:], u.channel[:], []byte(u.address))
	signature, err := s.signUnsubscription(ctx, message)
	return base64.RawURLEncoding.EncodeToString(append(signature, message...)), err
}

func (s *Server) openUnsubscription(ctx context.Context, token string) (unsubscription, error) {
	if len(token) > maxToken {
		return unsubscription{}, checks.ErrNotFound
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(sealed) <= sha256.Size+32 {
		return unsubscription{}, checks.ErrNotFound
	}
	message := sealed[sha256.Size:]
	signature, err := s.signUnsubscription(ctx, message)
	if err != nil {
		return unsubscription{}, err
	}
	if !hmac.Equal(signature, sealed[:sha256.Size]) {
		return unsubscription{}, checks.ErrNotFound
	}
	return unsubscription{uuid.UUID(message[:16]), uuid.UUID(message[16:32]), string(message[32:])}, nil
}

func (s *Server) signUnsubscription(ctx context.Context, message []byte) ([]byte, error) {
	key, err := s.unsubscribers.Get(ctx)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil), nil
}
