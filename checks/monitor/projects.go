package monitor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// Projects administers the projects of the installation, and is what a server needs to know about all of them: their accounts, whom a
// key lets in, and what pages show. It is a [checks.Projects]. A program that embeds monitoring calls [Monitor.OpenProject] instead.
type Projects struct{ *service }

// Projects returns the projects of the installation.
func (m *Monitor) Projects() *Projects {
	if m == nil {
		return nil
	}
	return &Projects{m.service}
}

var _ checks.Projects = (*Projects)(nil)

// Project is [Monitor.Project].
func (s *Projects) Project(id uuid.UUID) checks.Administrator { return &Project{s.service, id} }

// Kinds is [Monitor.Kinds]. Error: none.
func (s *Projects) Kinds(context.Context) ([]channels.Type, error) { return s.kinds(), nil }

// Configured is [Monitor.Configured].
func (s *Projects) Configured(kind channels.Kind) error { return s.courier.Configured(kind) }

// Create creates a project with a read-write and a read-only key, unless the spec has NoKeys. Errors: *[checks.FieldError], and [checks.ErrExists] for
// a name or a ping key in use.
func (s *Projects) Create(ctx context.Context, spec checks.ProjectSpec) (p checks.Project, keys checks.ProjectKeys, err error) {
	defer describe(&err, "project", spec.Name)
	defer s.cached.forget() // MaxChecks also changes the other projects of the account
	if p, err = s.newProject(spec); err != nil {
		return checks.Project{}, checks.ProjectKeys{}, err
	}
	var saved []checks.Key
	if !spec.NoKeys {
		readWrite, keyRW := s.newKey(p.ID, checks.ReadWrite)
		readOnly, keyRO := s.newKey(p.ID, checks.ReadOnly)
		keys, saved = checks.ProjectKeys{ReadWrite: readWrite, ReadOnly: readOnly}, []checks.Key{keyRW, keyRO}
	}
	err = s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		change, err := s.note(ctx, tx, aboutProject(p, "project.create", audit.Change{Field: "account", To: p.Account}, audit.Change{Field: "plan", To: p.Plan}))
		if err != nil {
			return err
		}
		saveProject := change.SaveProject
		if spec.First {
			saveProject = change.SaveFirstProject
		}
		if err := saveProject(ctx, p); err != nil {
			return err
		}
		for _, k := range saved {
			if err := change.SaveKey(ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return checks.Project{}, checks.ProjectKeys{}, err
	}
	return p, keys, nil
}

// newProject returns the project of a spec.
func (s *service) newProject(spec checks.ProjectSpec) (checks.Project, error) {
	p := checks.Project{
		ID: uuid.New(), Name: spec.Name, Account: cmp.Or(spec.Account, "default"), Plan: cmp.Or(spec.Plan, "paid"), MaxChecks: spec.MaxChecks,
		BadgeKey: randomText(publicKeyLength), PingKey: cmp.Or(spec.PingKey, randomText(publicKeyLength)), CreatedAt: s.now(),
		Storm: cmp.Or(spec.Storm, gate.DefaultStorm()),
	}
	_, err := checks.ProjectUpdate{StormChecks: &p.Storm.Checks, StormWindow: &p.Storm.Window}.Of(p)
	switch {
	case p.Plan != "free" && p.Plan != "paid":
		return checks.Project{}, &checks.FieldError{Field: "plan", Reason: fmt.Sprintf("must be free or paid: %q", p.Plan)}
	case !checks.ValidPingKey(p.PingKey):
		return checks.Project{}, &checks.FieldError{Field: "ping-key", Reason: "must be 22 lower-case letters and digits"}
	case p.MaxChecks < 0:
		return checks.Project{}, &checks.FieldError{Field: "max-checks", Reason: fmt.Sprintf("is too small: %d, the minimum is 0", p.MaxChecks)}
	}
	return p, errors.Join(checks.ValidateProjectName(p.Name), checks.ValidateName("account", p.Account), err)
}

// List returns all projects, by name.
func (s *Projects) List(ctx context.Context) ([]checks.Project, error) {
	return s.store.Projects(ctx, store.ProjectFilter{})
}

// ByID returns the project with this identifier. Error: [checks.ErrNotFound].
func (s *Projects) ByID(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	p, err := s.project(ctx, store.ProjectFilter{ID: &id})
	return p, about("project", id, err)
}

// ByName returns the project with this name. Error: [checks.ErrNotFound].
func (s *Projects) ByName(ctx context.Context, name string) (checks.Project, error) {
	p, err := s.project(ctx, store.ProjectFilter{Name: &name})
	return p, about("project", name, err)
}

// ByBadgeKey returns the project with this badge key. It may be 3 seconds old. Error: [checks.ErrNotFound].
func (s *Projects) ByBadgeKey(ctx context.Context, key string) (checks.Project, error) {
	p, err := s.cached.byBadgeKey.get(ctx, key, s.now())
	return p, about("project", "of a badge key", err) // which is a secret
}

// ByPingKey returns the project with this ping key. Error: [checks.ErrNotFound].
func (s *Projects) ByPingKey(ctx context.Context, key string) (p checks.Project, err error) {
	const noSlug = "/" // of no check
	err = checks.ErrNotFound
	if checks.ValidPingKey(key) {
		var id uuid.UUID
		if id, _, err = s.store.BySlug(ctx, key, noSlug); err == nil {
			p, err = s.project(ctx, store.ProjectFilter{ID: &id})
		}
	}
	return p, about("project", "of a ping key", err) // which is a secret
}

// project returns the first project that a filter selects.
func (s *service) project(ctx context.Context, f store.ProjectFilter) (checks.Project, error) {
	return one(s.store.Projects(ctx, f))
}

// Update changes a project and returns it. With settings of storms, alerts that wait for others are asked about at once. Other
// processes may use the old name for 5 seconds more. Errors: *[checks.FieldError]; [checks.ErrExists] for a name in use;
// [checks.ErrNotFound].
func (s *Projects) Update(ctx context.Context, id uuid.UUID, update checks.ProjectUpdate) (p checks.Project, err error) {
	defer describe(&err, "project", id)
	if _, err := update.Of(checks.Project{}); err != nil {
		return checks.Project{}, err
	}
	defer s.cached.forget()
	err = s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if p, err = tx.LockAccount(ctx, id); err != nil {
			return err
		}
		was := p
		if p, err = update.Of(was); err != nil {
			return err
		}
		changes := add(nil, "name", was.Name, p.Name)
		changes = add(changes, "storm_checks", strconv.Itoa(was.Storm.Checks), strconv.Itoa(p.Storm.Checks))
		changes = add(changes, "storm_window", checks.ValueText(was.Storm.Window), checks.ValueText(p.Storm.Window))
		change, err := s.note(ctx, tx, aboutProject(p, "project.update", changes...))
		if err != nil {
			return err
		}
		return change.SaveProject(ctx, p)
	})
	if err != nil {
		return checks.Project{}, err
	}
	return p, nil
}

// retiredKind is the kind of the records of ping keys that were replaced. Their Key is the hash of the text, in hexadecimal,
// and their Owner the project. Only pings that wait in a spool since before look them up.
const (
	retiredKind = "retired ping key"
	retiredFor  = 90 * 24 * time.Hour
)

// RotatePingKey gives a project another ping key and returns the project. Pings by slug with the old key, also those by e-mail, are
// refused at once, on all servers; pings by UUID go on, and pings that a spool took before are recorded within 90 days. Call it
// when somebody has the key who should not. Error: [checks.ErrNotFound].
func (s *Projects) RotatePingKey(ctx context.Context, id uuid.UUID) (p checks.Project, err error) {
	defer describe(&err, "project", id)
	defer s.cached.forget()
	err = s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if p, err = tx.LockAccount(ctx, id); err != nil {
			return err
		}
		retired := records.Record{Kind: retiredKind, Key: retiredKey(p.PingKey), Owner: id, Value: []byte("{}"), Until: s.now().Add(retiredFor)}
		p.PingKey = randomText(publicKeyLength)
		if err := tx.SaveRecords(ctx, s.now(), retired); err != nil {
			return err
		}
		change, err := s.note(ctx, tx, aboutProject(p, "project.update", audit.Change{Field: "ping_key", From: hidden, To: hidden}))
		if err != nil {
			return err
		}
		return change.SaveProject(ctx, p)
	})
	if err != nil {
		return checks.Project{}, err
	}
	return p, nil
}

func retiredKey(pingKey string) string {
	hash := sha256.Sum256([]byte(pingKey))
	return hex.EncodeToString(hash[:])
}

// renewed returns the ping key of the project that had another one before.
func (s *service) renewed(ctx context.Context, pingKey string) (string, error) {
	r, err := one(s.store.Records(ctx, s.now(), records.Query{Kind: new(retiredKind), Key: new(retiredKey(pingKey))}))
	if err != nil {
		return "", err
	}
	p, err := s.project(ctx, store.ProjectFilter{ID: &r.Owner})
	return p.PingKey, err
}

// Delete removes a project with its checks, keys, channels and status pages. Of many checks it removes most before the project, in
// steps between which pings get their turn. After an error in the middle the project has fewer checks: delete it again. Error:
// [checks.ErrNotFound].
func (s *Projects) Delete(ctx context.Context, id uuid.UUID) error {
	defer s.cached.forget()
	if err := s.removeChecks(ctx, id); err != nil {
		return about("project", id, err)
	}
	err := s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		p, err := one(tx.Projects(ctx, store.ProjectFilter{ID: &id}))
		if err != nil {
			return err
		}
		change, err := s.note(ctx, tx, aboutProject(p, "project.delete"))
		if err != nil {
			return err
		}
		return change.DeleteProject(ctx, p.ID)
	})
	return about("project", id, err)
}

// removeChecks removes checks of a project before it is deleted itself, until one transaction can remove the others.
func (s *Projects) removeChecks(ctx context.Context, project uuid.UUID) error {
	ids, err := s.store.FindChecks(ctx, project, store.Match{})
	if err != nil {
		return err
	}
	all := len(ids)
	for size := firstStep; len(ids) > maxStep; s.store.Rest(ctx) {
		var begin time.Time
		part := ids[:size]
		err := s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			begin = time.Now()
			locked, err := tx.LockChecks(ctx, part)
			if err != nil {
				return err
			}
			elsewhere := func(l *store.Locked) bool { return l.ProjectID != project }
			return tx.DeleteChecks(ctx, slices.DeleteFunc(locked, elsewhere)...)
		})
		if err != nil {
			return fmt.Errorf("%w (%d of %d checks are deleted)", err, all-len(ids), all)
		}
		ids, size = ids[size:], nextStep(size, size, time.Since(begin))
	}
	return nil
}

// CheckByBadgeKey returns the check with this badge key, in any project. Error: [checks.ErrNotFound].
func (s *Projects) CheckByBadgeKey(ctx context.Context, key uuid.UUID) (checks.Check, error) {
	c, err := one(s.store.Checks(ctx, store.CheckFilter{BadgeKey: &key}))
	return c, about("check", "of a badge key", err) // which is a secret
}

// ChecksByID returns those of many checks that exist, in any projects, by their identifiers.
func (s *Projects) ChecksByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]checks.Check, error) {
	const atOnce = 500
	found := make(map[uuid.UUID]checks.Check, len(ids))
	for part := range slices.Chunk(ids, atOnce) {
		list, err := s.store.Checks(ctx, store.CheckFilter{IDs: part})
		if err != nil {
			return nil, about("checks", "by their IDs", err)
		}
		for _, c := range list {
			found[c.ID] = c
		}
	}
	return found, nil
}

// CheckIDBySlug returns the identifier of the check with a slug, in the project with the ping key. Errors:
// [checks.ErrNotFound], [checks.ErrAmbiguousSlug], [checks.ErrUnavailable].
func (s *Projects) CheckIDBySlug(ctx context.Context, pingKey, slug string) (uuid.UUID, error) {
	id, _, err := s.checkIDBySlug(ctx, pingKey, slug, false, true)
	return id, about("slug", slug, err)
}

// Channel returns a channel of any project. Error: [checks.ErrNotFound].
func (s *Projects) Channel(ctx context.Context, id uuid.UUID) (channels.Channel, error) {
	c, err := one(s.store.Channels(ctx, store.ChannelFilter{IDs: []uuid.UUID{id}}))
	return c, about("channel", id, err)
}
