package server

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// pingTarget is the meaning of a ping's path: a check, by its UUID or by ping key and slug, and a signal.
type pingTarget struct {
	id        uuid.UUID // zero if the check has key and slug
	key, slug string
	kind      pings.Kind
	exit      *int // exit status, if the path has one
}

// parsePingPath parses the path of a ping below {ping_base_url}, still escaped:
//
//	/<uuid>             /<ping_key>/<slug>
//	/<uuid>/<signal>    /<ping_key>/<slug>/<signal>
//
// where the signal is start, fail, log or an exit status; one slash at the end does not matter. A first segment that
// is a canonical UUID is never a ping key. The error is errBadURL for a slug with an upper-case letter and for an exit
// status above 255, and errNotFound for any other path. parsePingPath does not look up the check.
func parsePingPath(escaped string) (pingTarget, error) {
	if id, ok := parseUUID(strings.TrimPrefix(escaped, "/"), false); ok && escaped[0] == '/' {
		return pingTarget{id: id, kind: pings.Success}, nil // nearly all pings
	}
	path, rooted := strings.CutPrefix(strings.TrimSuffix(escaped, "/"), "/")
	segments := strings.SplitN(path, "/", 4)
	for i, segment := range segments {
		text, err := url.PathUnescape(segment)
		if err != nil || text == "" || !rooted {
			return pingTarget{}, errNotFound
		}
		segments[i] = text
	}
	var t pingTarget
	signal := segments[1:]
	if id, ok := parseUUID(segments[0], false); ok {
		t.id = id
	} else {
		if len(segments) < 2 {
			return pingTarget{}, errNotFound
		}
		t.key, t.slug, signal = segments[0], segments[1], segments[2:]
	}
	if len(signal) > 1 {
		return pingTarget{}, errNotFound
	}
	if strings.ContainsAny(t.slug, upperCase) && strings.Trim(t.slug, upperCase+slugCharacters) == "" {
		return pingTarget{}, errBadURL
	}
	t.kind = pings.Success
	if len(signal) == 1 {
		if err := t.parseSignal(signal[0]); err != nil {
			return pingTarget{}, err
		}
	}
	if t.slug != "" && (!checks.ValidSlug(t.slug) || !checks.ValidPingKey(t.key)) {
		return pingTarget{}, errNotFound
	}
	return t, nil
}

func (t *pingTarget) parseSignal(text string) error {
	switch text {
	case "start":
		t.kind = pings.Start
	case "fail":
		t.kind = pings.Failure
	case "log":
		t.kind = pings.Log
	default:
		if strings.Trim(text, "0123456789") != "" {
			return errNotFound
		}
		exit, err := strconv.ParseUint(text, 10, 8) // 0 to 255
		if err != nil {
			return errBadURL
		}
		t.exit = new(int(exit))
		if exit > 0 {
			t.kind = pings.Failure
		}
	}
	return nil
}

const (
	upperCase      = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	slugCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
)
