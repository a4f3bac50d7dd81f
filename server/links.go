package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/secret"
)

// This file holds what the links in alerts share: signed tokens, and pages that need no sign-in.

const (
	linkMethods = "GET, HEAD, POST"
	// maxToken is the length of a token for the longest address.
	maxToken = 600
	// ackAge is how long a link to acknowledge can be used.
	ackAge = 7 * 24 * time.Hour
	// ackLength is the length of what its token stands for: two UUIDs and two instants. ackAllLength is that of a token for a message
	// about several checks: a UUID, two identifiers of deliveries and an instant.
	ackLength, ackAllLength = 48, 40
)

// linkStyle is the style sheet of the pages.
var linkStyle = func() string {
	_, style, _ := strings.Cut(unsubscribeFile, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	return style
}()

// linkPolicy lets such a page use its style and send its form, and nothing else.
var linkPolicy = func() string {
	sum := sha256.Sum256([]byte(linkStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
}()

// link returns the URL below path with the token of a message. It is "" if the key cannot be read from the database.
func (s *Server) link(ctx context.Context, path string, key *secret.Secret, message []byte) string {
	token, err := seal(ctx, key, message)
	if err != nil {
		s.log.WarnContext(ctx, "a message has no link", "link", path, "error", err)
		return ""
	}
	return s.base.Text + path + "/" + token
}

// seal returns the token of a message: its signature by a key, followed by the message.
func seal(ctx context.Context, key *secret.Secret, message []byte) (token string, err error) {
	text, err := key.Get(ctx)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, text)
	mac.Write(message)
	return base64.RawURLEncoding.EncodeToString(append(mac.Sum(nil), message...)), nil
}

// unseal returns the message of a token, of at least so many bytes. A bad token is [checks.ErrNotFound].
func unseal(ctx context.Context, key *secret.Secret, token string, least int) (message []byte, err error) {
	if len(token) > maxToken {
		return nil, checks.ErrNotFound
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(sealed) < sha256.Size+least {
		return nil, checks.ErrNotFound
	}
	message = sealed[sha256.Size:]
	right, err := seal(ctx, key, message)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(right), []byte(token)) { // the whole token: base64 skips line breaks
		return nil, checks.ErrNotFound
	}
	return message, nil
}

// linkPage answers a request with a page about what apply returns.
func (s *Server) linkPage(w http.ResponseWriter, r *http.Request, page *template.Template, apply func(r *http.Request) (status int, data any, err error)) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		w.Header().Set("Allow", linkMethods)
		s.fail(w, r, errMethod)
		return
	}
	r, cancel := limit.Detach(r)
	defer cancel()
	var b bytes.Buffer
	status, data, err := apply(r)
	if err == nil {
		err = page.Execute(&b, data)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", linkPolicy)
	write(w, status, "text/html; charset=utf-8", b.Bytes())
}

// ackLink is what a token stands for, until an instant: an outage of a check of a project, or those that the deliveries of a batch were
// about, whose highest ID is last.
type ackLink struct {
	project, check uuid.UUID
	down, until    time.Time
	batch, last    int64
}

// AcknowledgeURL returns the URL at which people acknowledge the present outage of a check, for the field AckLink of
// monitor.Config. It is "" if the check is not down, or if the signing key cannot be read from the database.
//
// Anyone who knows the URL can acknowledge this outage within 7 days, and no other. A GET shows a page with a button. A POST
// acknowledges, in the name of who is signed in, or else in the name that the form has.
func (s *Server) AcknowledgeURL(ctx context.Context, c checks.Check) string {
	if c.Stored != checks.StatusDown {
		return ""
	}
	message, _ := binary.Append(slices.Concat(c.ProjectID[:], c.ID[:]), binary.BigEndian,
		[]int64{c.StoredSince.UnixMicro(), s.mon.Now().Add(ackAge).UnixMicro()})
	return s.link(ctx, acknowledgePath, s.acknowledgers, message)
}

// AcknowledgeAllURL returns the URL at which people acknowledge the outages that a message about several checks names, for the field
// AckAllLink of monitor.Config, under the rules of [Server.AcknowledgeURL]. Outages that are over, and later ones, stay as they are.
func (s *Server) AcknowledgeAllURL(ctx context.Context, project uuid.UUID, batch, last int64) string {
	message, _ := binary.Append(project[:], binary.BigEndian, []int64{batch, last, s.mon.Now().Add(ackAge).UnixMicro()})
	return s.link(ctx, acknowledgePath, s.acknowledgers, message)
}

// openAck returns the link of a token. A bad one is [checks.ErrNotFound].
func (s *Server) openAck(ctx context.Context, token string) (l ackLink, err error) {
	message, err := unseal(ctx, s.acknowledgers, token, ackAllLength)
	if err == nil && len(message) != ackLength && len(message) != ackAllLength {
		err = checks.ErrNotFound
	}
	if err != nil {
		return l, err
	}
	number := func(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
	at := func(b []byte) time.Time { return time.UnixMicro(number(b)).UTC() }
	if len(message) == ackAllLength {
		return ackLink{project: uuid.UUID(message), batch: number(message[16:]), last: number(message[24:]), until: at(message[32:])}, nil
	}
	return ackLink{project: uuid.UUID(message), check: uuid.UUID(message[16:]), down: at(message[32:]), until: at(message[40:])}, nil
}
