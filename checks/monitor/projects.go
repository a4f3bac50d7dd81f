package monitor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// Prefixes of API keys, and the length of a whole key in characters (server/API.md section 5).
const (
	KeyPrefixReadWrite = "rcw_"
	KeyPrefixReadOnly  = "rcr_"
	KeyLength          = 32
)

const (
	maxName       = 100 // characters of the name of a project, an account or a channel
	keyHintLength = 8
)

// ProjectSpec describes a new project.
type ProjectSpec struct {
	// Name must be new, 1 to 100 characters.
	Name string
	// Account is the account that the project belongs to. Default: [checks.DefaultAccount]. Projects with the same
	// account and plan share their limits.
	Account string
	// Plan is the account's plan. Default: [checks.Paid].
	Plan checks.Plan
	// MaxChecks is the account's check limit. Default: the plan's.
	MaxChecks int
}

// Keys are the texts of a new project's API keys. The database stores only their hashes, so nobody can read them again.
type Keys struct {
	ReadWrite string
	ReadOnly  string
}

// CreateProject creates a project with a read-write and a read-only key. Errors: *[checks.FieldError], and
// [checks.ErrExists] for a name in use.
func (m *Monitor) CreateProject(ctx context.Context, spec ProjectSpec) (p checks.Project, keys Keys, err error) {
	defer m.forgetLookups() // MaxChecks also changes the other projects of the account
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		p, keys, err = m.insertProject(ctx, tx, spec)
		return err
	})
	if err != nil {
		return checks.Project{}, Keys{}, err
	}
	return p, keys, nil
}

// CreateFirstProject does what [Monitor.CreateProject] does, if there is no project yet. If several servers start at
// once, one of them creates it.
func (m *Monitor) CreateFirstProject(ctx context.Context, spec ProjectSpec) (p checks.Project, keys Keys, created bool, err error) {
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		created = false
		n, err := tx.CountProjects(ctx)
		if err != nil || n > 0 {
			return err
		}
		created = true
		p, keys, err = m.insertProject(ctx, tx, spec)
		return err
	})
	if err != nil {
		return checks.Project{}, Keys{}, false, err
	}
	return p, keys, created, nil
}

// OpenProject returns the project with this name. If there is none, it creates one on the paid plan of the default
// account. Use it in a program that embeds monitoring and needs no API keys. Error: *[checks.FieldError].
func (m *Monitor) OpenProject(ctx context.Context, name string) (checks.Project, error) {
	p, err := m.ProjectByName(ctx, name)
	if !errors.Is(err, checks.ErrNotFound) {
		return p, err
	}
	p, _, err = m.CreateProject(ctx, ProjectSpec{Name: name})
	if errors.Is(err, checks.ErrExists) { // another program has just created it
		return m.ProjectByName(ctx, name)
	}
	return p, err
}

func (m *Monitor) insertProject(ctx context.Context, tx store.Tx, spec ProjectSpec) (checks.Project, Keys, error) {
	p := checks.Project{
		ID: uuid.New(), Name: spec.Name, Account: spec.Account, Plan: spec.Plan, MaxChecks: spec.MaxChecks,
		BadgeKey: randomText(checks.PingKeyLength), PingKey: randomText(checks.PingKeyLength), CreatedAt: m.Now(),
	}
	if p.Account == "" {
		p.Account = checks.DefaultAccount
	}
	if p.Plan == "" {
		p.Plan = checks.Paid
	}
	switch {
	case p.Plan != checks.Free && p.Plan != checks.Paid:
		return checks.Project{}, Keys{}, &checks.FieldError{Field: "plan", Reason: fmt.Sprintf("must be free or paid: %q", p.Plan)}
	case p.MaxChecks < 0:
		return checks.Project{}, Keys{}, &checks.FieldError{Field: "max-checks", Reason: fmt.Sprintf("is too small: %d, the minimum is 0", p.MaxChecks)}
	}
	if err := errors.Join(validName("name", p.Name, 1), validName("account", p.Account, 1)); err != nil {
		return checks.Project{}, Keys{}, err
	}
	if err := tx.InsertProject(ctx, p); err != nil {
		return checks.Project{}, Keys{}, err
	}
	readWrite, keyRW := m.newKey(p.ID, false)
	readOnly, keyRO := m.newKey(p.ID, true)
	for _, key := range []checks.Key{keyRW, keyRO} {
		if err := tx.InsertKey(ctx, key); err != nil {
			return checks.Project{}, Keys{}, err
		}
	}
	return p, Keys{ReadWrite: readWrite, ReadOnly: readOnly}, nil
}

// validName checks the name of a project, an account or a channel.
func validName(field, value string, least int) error {
	n := utf8.RuneCountInString(value)
	switch {
	case !utf8.ValidString(value):
		return &checks.FieldError{Field: field, Reason: "is not valid UTF-8"}
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return &checks.FieldError{Field: field, Reason: "has a control character"}
	case n < least:
		return &checks.FieldError{Field: field, Reason: "is empty"}
	case n > maxName:
		return &checks.FieldError{Field: field, Reason: fmt.Sprintf("is too long: %d characters, the maximum is %d", n, maxName)}
	}
	return nil
}

// Projects returns all projects, by name.
func (m *Monitor) Projects(ctx context.Context) ([]checks.Project, error) {
	return m.store.Projects(ctx, store.ProjectFilter{})
}

// Project returns the project with this identifier. Error: [checks.ErrNotFound].
func (m *Monitor) Project(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return one(m.store.Projects(ctx, store.ProjectFilter{ID: &id}))
}

// ProjectByName returns the project with this name. Error: [checks.ErrNotFound].
func (m *Monitor) ProjectByName(ctx context.Context, name string) (checks.Project, error) {
	return one(m.store.Projects(ctx, store.ProjectFilter{Name: &name}))
}

// DeleteProject removes a project with its checks, keys, channels and status pages. Error: [checks.ErrNotFound].
func (m *Monitor) DeleteProject(ctx context.Context, id uuid.UUID) error {
	defer m.forgetLookups()
	return m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		return tx.DeleteProject(ctx, id)
	})
}

// CreateKey creates an API key for a project and returns its text. The database stores only a hash of it. Error:
// [checks.ErrNotFound].
func (m *Monitor) CreateKey(ctx context.Context, projectID uuid.UUID, readOnly bool) (text string, key checks.Key, err error) {
	text, key = m.newKey(projectID, readOnly)
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		return tx.InsertKey(ctx, key)
	})
	if err != nil {
		return "", checks.Key{}, err
	}
	return text, key, nil
}

func (m *Monitor) newKey(projectID uuid.UUID, readOnly bool) (string, checks.Key) {
	prefix := KeyPrefixReadWrite
	if readOnly {
		prefix = KeyPrefixReadOnly
	}
	text := prefix + randomText(KeyLength-len(prefix))
	return text, checks.Key{
		ID: uuid.New(), ProjectID: projectID, ReadOnly: readOnly,
		Hash: sha256.Sum256([]byte(text)), Hint: text[:keyHintLength], CreatedAt: m.Now(),
	}
}

// randomText returns n random lower-case letters and digits, with 5 bits of randomness each.
func randomText(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strings.ToLower(rand.Text()))
	}
	return b.String()[:n]
}

// Keys returns the API keys of a project, oldest first, without their texts. Error: [checks.ErrNotFound].
func (m *Monitor) Keys(ctx context.Context, projectID uuid.UUID) ([]checks.Key, error) {
	list, err := m.store.Keys(ctx, store.KeyFilter{ProjectID: &projectID})
	return list, m.exists(ctx, projectID, len(list), err)
}

// RevokeKey removes an API key of a project. Error: [checks.ErrNotFound].
func (m *Monitor) RevokeKey(ctx context.Context, projectID, id uuid.UUID) error {
	defer m.forgetLookups()
	return m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		return tx.DeleteKey(ctx, projectID, id)
	})
}

// Authenticate returns the API key with this text, or [checks.ErrNotFound]. It looks up a hash of the text, so its
// timing does not reveal how much of the text is right. A key that another process revokes stays valid for up to 5
// seconds.
func (m *Monitor) Authenticate(ctx context.Context, text string) (checks.Key, error) {
	if len(text) != KeyLength {
		return checks.Key{}, checks.ErrNotFound
	}
	return m.keys.get(ctx, sha256.Sum256([]byte(text)), m.Now())
}

// forgetLookups empties the caches of projects and keys, so that a change takes effect in this process at once.
func (m *Monitor) forgetLookups() {
	m.keys.forget()
	m.byPingKey.forget()
	m.byBadgeKey.forget()
	m.byID.forget()
}

// Secret returns a secret of the installation by name. The first call generates it and stores it in the database.
func (m *Monitor) Secret(ctx context.Context, name string) (string, error) {
	return m.store.Setting(ctx, name, randomText(52))
}

// Once reports whether this call is the first with this name, in the whole installation and for good. Of concurrent calls,
// one is the first. Use it for what may happen only once, such as the use of a link.
func (m *Monitor) Once(ctx context.Context, name string) (first bool, err error) {
	mine := randomText(52)
	stored, err := m.store.Setting(ctx, name, mine)
	return stored == mine, err
}
