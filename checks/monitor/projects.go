package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/admin"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Prefixes of API keys, and the length of a whole key in characters (server/API.md section 5).
const (
	KeyPrefixReadWrite = admin.KeyPrefixReadWrite
	KeyPrefixReadOnly  = admin.KeyPrefixReadOnly
	KeyLength          = admin.KeyLength
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
	p, texts, err := m.admin.CreateProject(ctx, admin.ProjectSpec(spec))
	return p, Keys(texts), err
}

// CreateFirstProject does what [Monitor.CreateProject] does, if there is no project yet. If several servers start at
// once, one of them creates it.
func (m *Monitor) CreateFirstProject(ctx context.Context, spec ProjectSpec) (p checks.Project, keys Keys, created bool, err error) {
	p, texts, created, err := m.admin.CreateFirstProject(ctx, admin.ProjectSpec(spec))
	return p, Keys(texts), created, err
}

// OpenProject returns the project with this name. If there is none, it creates one on the paid plan of the default
// account. Use it in a program that embeds monitoring and needs no API keys. Error: *[checks.FieldError].
func (m *Monitor) OpenProject(ctx context.Context, name string) (checks.Project, error) {
	return m.admin.OpenProject(ctx, name)
}

// Projects returns all projects, by name.
func (m *Monitor) Projects(ctx context.Context) ([]checks.Project, error) {
	return m.store.Projects(ctx, store.ProjectFilter{})
}

// Project returns the project with this identifier. Error: [checks.ErrNotFound].
func (m *Monitor) Project(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return m.admin.Project(ctx, id)
}

// ProjectByName returns the project with this name. Error: [checks.ErrNotFound].
func (m *Monitor) ProjectByName(ctx context.Context, name string) (checks.Project, error) {
	return m.admin.ProjectByName(ctx, name)
}

// ProjectByBadgeKey returns the project with this badge key. It may be 3 seconds old. Error: [checks.ErrNotFound].
func (m *Monitor) ProjectByBadgeKey(ctx context.Context, key string) (checks.Project, error) {
	return m.admin.ProjectByBadgeKey(ctx, key)
}

// DeleteProject removes a project with its checks, keys, channels and status pages. Error: [checks.ErrNotFound].
func (m *Monitor) DeleteProject(ctx context.Context, id uuid.UUID) error {
	return m.admin.DeleteProject(ctx, id)
}

// CreateKey creates an API key for a project and returns its text. The database stores only a hash of it. Error:
// [checks.ErrNotFound].
func (m *Monitor) CreateKey(ctx context.Context, projectID uuid.UUID, readOnly bool) (text string, key checks.Key, err error) {
	return m.admin.CreateKey(ctx, projectID, readOnly)
}

// Keys returns the API keys of a project, oldest first, without their texts. Error: [checks.ErrNotFound].
func (m *Monitor) Keys(ctx context.Context, projectID uuid.UUID) ([]checks.Key, error) {
	return m.admin.Keys(ctx, projectID)
}

// RevokeKey removes an API key of a project. Error: [checks.ErrNotFound].
func (m *Monitor) RevokeKey(ctx context.Context, projectID, id uuid.UUID) error {
	return m.admin.RevokeKey(ctx, projectID, id)
}

// Authenticate returns the API key with this text, or [checks.ErrNotFound]. It looks up a hash of the text, so its
// timing does not reveal how much of the text is right. A key that another process revokes stays valid for up to 5
// seconds.
func (m *Monitor) Authenticate(ctx context.Context, text string) (checks.Key, error) {
	return m.admin.Authenticate(ctx, text)
}

// Secret returns a secret of the installation by name. The first call generates it and stores it in the database.
func (m *Monitor) Secret(ctx context.Context, name string) (string, error) {
	return m.admin.Secret(ctx, name)
}

// EndSession ends a session of somebody who signed in, on all servers. The session would have ended by itself until the
// given instant. What a session is, and its identifier, is up to the caller.
func (m *Monitor) EndSession(ctx context.Context, id uuid.UUID, until time.Time) error {
	return m.admin.EndSession(ctx, id, until)
}

// SessionEnded reports whether [Monitor.EndSession] has ended a session. It asks the database.
func (m *Monitor) SessionEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	return m.admin.Store.SessionEnded(ctx, id)
}

// Once reports whether this call is the first with this name, in the whole installation and for good. Of concurrent calls,
// one is the first. Use it for what may happen only once, such as the use of a link.
func (m *Monitor) Once(ctx context.Context, name string) (first bool, err error) {
	return m.admin.Once(ctx, name)
}
