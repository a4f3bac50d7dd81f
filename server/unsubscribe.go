package server

import (
	"context"
	_ "embed"
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
)

const unsubscribePath = "/unsubscribe"

// unsubscribeFile is the page, with its style sheet, which has few rules and needs no file.
//
//go:embed unsubscribe.html
var unsubscribeFile string

var unsubscribePage = template.Must(template.New("unsubscribe").Parse(unsubscribeFile))

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
	return s.link(ctx, unsubscribePath, s.unsubscribers, slices.Concat(c.ProjectID[:], c.ID[:], []byte(address)))
}

// unsubscribe shows the page or, for a POST, takes the address off and says so. It never redirects (RFC 8058, section
// 3.1). The body of the POST does not matter: the token is enough.
func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request, path string) {
	setRoute(w, routeUnsubscribe)
	s.linkPage(w, r, unsubscribePage, func(r *http.Request) (int, any, error) {
		page, err := s.applyUnsubscription(r, strings.TrimPrefix(path, unsubscribePath+"/"))
		return http.StatusOK, page, err
	})
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

// openUnsubscription returns the unsubscription of a token. A bad one is [checks.ErrNotFound].
func (s *Server) openUnsubscription(ctx context.Context, token string) (unsubscription, error) {
	message, err := unseal(ctx, s.unsubscribers, token, 33) // an address has a character
	if err != nil {
		return unsubscription{}, err
	}
	return unsubscription{uuid.UUID(message[:16]), uuid.UUID(message[16:32]), string(message[32:])}, nil
}
