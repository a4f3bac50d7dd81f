package feed

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// version is the first byte of an encoded change.
const version = 1

// allChecksCode stands for the number of checks in a project of which all may have changed.
const allChecksCode = 0xffff

// encode returns a change as text of at most [store.MaxMessage] bytes. What is too long becomes less precise.
func encode(from origin, c checks.Change) string {
	head := append([]byte{version}, from[:]...)
	b, fits := appendProjects(head, c.Projects, false)
	if !fits {
		b, fits = appendProjects(head, c.Projects, true)
	}
	if !fits || c.All {
		b = head // without projects: anything may have changed
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// appendProjects appends projects to an encoded change, and reports whether they fit.
func appendProjects(b []byte, projects map[uuid.UUID]checks.ProjectChange, coarse bool) (_ []byte, fits bool) {
	most := base64.RawStdEncoding.DecodedLen(store.MaxMessage)
	b = b[:len(b):len(b)]
	for id, p := range projects {
		b = append(append(b, id[:]...), byte(p.Kinds))
		if p.AllChecks || coarse && len(p.Checks) > 0 {
			b = binary.BigEndian.AppendUint16(b, allChecksCode)
			continue
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(p.Checks)))
		if len(b)+len(p.Checks)*(len(id)+1) > most {
			return nil, false
		}
		for check, kinds := range p.Checks {
			b = append(append(b, check[:]...), byte(kinds))
		}
	}
	return b, len(b) <= most
}

// decode reads an encoded change. Anything may have changed if the text is of another version or invalid.
func decode(text string) (from origin, c checks.Change) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(b) < 1+len(from) || b[0] != version {
		return origin{}, checks.Change{All: true}
	}
	from, b = origin(b[1:]), b[1+len(from):]
	projects := make(map[uuid.UUID]checks.ProjectChange)
	for len(b) > 0 {
		if len(b) < 19 {
			return from, checks.Change{All: true}
		}
		id, p, n := uuid.UUID(b[:16]), checks.ProjectChange{Kinds: checks.ChangeKind(b[16])}, int(binary.BigEndian.Uint16(b[17:]))
		b = b[19:]
		switch {
		case n == allChecksCode:
			p.AllChecks = true
		case len(b) < 17*n:
			return from, checks.Change{All: true}
		case n > 0:
			p.Checks = make(map[uuid.UUID]checks.ChangeKind, n)
			for ; n > 0; n-- {
				p.Checks[uuid.UUID(b[:16])] = checks.ChangeKind(b[16])
				b = b[17:]
			}
		}
		projects[id] = p
	}
	if len(projects) == 0 {
		return from, checks.Change{All: true}
	}
	return from, checks.Change{Projects: projects}
}
