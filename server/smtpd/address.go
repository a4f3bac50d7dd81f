package smtpd

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// FindCheck returns the identifier of the check with the given local part (before the @): <uuid> or <ping_key>+<slug>, in any
// case, because mail programs change it.
// Errors: [checks.ErrNotFound], also for text of another form; [checks.ErrAmbiguousSlug]; [checks.ErrUnavailable].
func FindCheck(ctx context.Context, mon *monitor.Monitor, local string) (uuid.UUID, error) {
	r, ok := parseRecipient(local)
	if !ok {
		return uuid.Nil, checks.ErrNotFound
	}
	if r.slug != "" {
		return mon.Projects().CheckIDBySlug(ctx, r.key, r.slug)
	}
	_, err := mon.Check(ctx, r.id)
	return r.id, err
}

// recipient identifies a check: by its UUID, or by the ping key of its project and its slug.
type recipient struct {
	id        uuid.UUID
	key, slug string
}

// parseRecipient parses the local part of an address.
func parseRecipient(local string) (recipient, bool) {
	local = strings.ToLower(local)
	if key, slug, found := strings.Cut(local, "+"); found {
		return recipient{key: key, slug: slug}, checks.ValidPingKey(key) && slug != "" && checks.ValidSlug(slug)
	}
	id, err := uuid.Parse(local)
	return recipient{id: id}, err == nil && id.String() == local // uuid.Parse accepts other forms too
}

// redactKey returns an address for the log, without the ping key, and cut after 200 bytes. The UUID of a check stays, as in
// logged paths.
func redactKey(to string) string {
	local, domain, _ := strings.Cut(to, "@")
	if _, slug, found := strings.Cut(local, "+"); found {
		to = "(key)+" + slug + "@" + domain
	} else if checks.ValidPingKey(strings.ToLower(local)) {
		to = "(key)@" + domain
	}
	return to[:min(len(to), maxLogged)]
}
