package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Projects is what a server needs to know about all projects of the installation: their accounts, and whom a key lets in. A
// program that embeds monitoring calls [Monitor.OpenProject] instead.
type Projects struct{ *service }

// Projects returns the projects of the installation, for a server.
func (m *Monitor) Projects() *Projects { return &Projects{m.service} }

// ProjectSpec describes a new project.
type ProjectSpec struct {
	// Name must be new, 1 to 100 characters.
	Name string
	// Account is the account that the project belongs to. Default: "default". Projects with the same
	// account and plan share their limits.
	Account string
	// Plan is the account's plan, "free" or "paid". Default: "paid".
	Plan string
	// MaxChecks is the account's check limit. Default: the plan's.
	MaxChecks int
	// First asks for the first project of the installation: if there is one already, the error is [checks.ErrExists]. If
	// several servers start at once, one of them creates it.
	First bool
	// NoKeys creates no API keys: [Project.CreateKey] adds them when they are needed.
	NoKeys bool
	// PingKey is the ping key, for a project that moves here from another database with the ping URLs of its jobs: 22
	// lower-case letters and digits. Default: a random one.
	PingKey string
}

// Keys are the texts of a new project's API keys. The database stores only their hashes, so nobody can read them again.
type Keys struct {
	ReadWrite string
	ReadOnly  string
}

// Create creates a project with a read-write and a read-only key, unless the spec has NoKeys. Errors: *[checks.FieldError], and [checks.ErrExists] for
// a name or a ping key in use.
func (p *Projects) Create(ctx context.Context, spec ProjectSpec) (checks.Project, Keys, error) {
	project, keys, err := p.admin.CreateProject(ctx, spec)
	return project, keys, about("project", spec.Name, err)
}

// List returns all projects, by name.
func (p *Projects) List(ctx context.Context) ([]checks.Project, error) {
	return p.admin.Projects(ctx)
}

// ByID returns the project with this identifier. Error: [checks.ErrNotFound].
func (p *Projects) ByID(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	project, err := p.admin.Project(ctx, id)
	return project, about("project", id, err)
}

// ByName returns the project with this name. Error: [checks.ErrNotFound].
func (p *Projects) ByName(ctx context.Context, name string) (checks.Project, error) {
	project, err := p.admin.ProjectByName(ctx, name)
	return project, about("project", name, err)
}

// ByBadgeKey returns the project with this badge key. It may be 3 seconds old. Error: [checks.ErrNotFound].
func (p *Projects) ByBadgeKey(ctx context.Context, key string) (checks.Project, error) {
	project, err := p.admin.ProjectByBadgeKey(ctx, key)
	return project, about("project", "of a badge key", err) // which is a secret
}

// Rename changes the name of a project and returns the project. Other processes may use the old name for 5 seconds more.
// Errors: *[checks.FieldError]; [checks.ErrExists] for a name in use; [checks.ErrNotFound].
func (p *Projects) Rename(ctx context.Context, id uuid.UUID, name string) (checks.Project, error) {
	project, err := p.admin.RenameProject(ctx, id, name)
	return project, about("project", id, err)
}

// RotatePingKey gives a project another ping key and returns the project. Pings by slug with the old key, also those by e-mail, are
// refused at once, on all servers; pings by UUID go on, and pings that a spool took before are recorded within 90 days. Call it
// when somebody has the key who should not. Error: [checks.ErrNotFound].
func (p *Projects) RotatePingKey(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	project, err := p.admin.RotatePingKey(ctx, id)
	return project, about("project", id, err)
}

// Delete removes a project with its checks, keys, channels and status pages. Error: [checks.ErrNotFound].
func (p *Projects) Delete(ctx context.Context, id uuid.UUID) error {
	return about("project", id, p.admin.DeleteProject(ctx, id))
}

// Authenticate returns the API key with this text, of a project or of the installation, or [checks.ErrNotFound]. It looks up a hash of the text, so its
// timing does not reveal how much of the text is right. A key that another process revokes stays valid for up to 5
// seconds.
func (p *Projects) Authenticate(ctx context.Context, text string) (checks.Key, error) {
	key, err := p.admin.Authenticate(ctx, text)
	return key, about("api", "key", err)
}
