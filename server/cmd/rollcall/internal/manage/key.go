package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// keyDoc is an API key in JSON.
type keyDoc struct {
	ID       string       `json:"id"`
	Project  string       `json:"project"` // "" for a key of the installation
	ReadOnly bool         `json:"read_only"`
	Scope    checks.Scope `json:"scope"`
	Expires  *string      `json:"expires"`
}

// newKeyDoc returns the document of a key. The project is the zero value for a key of the installation.
func newKeyDoc(key checks.Key, project checks.Project) keyDoc {
	return keyDoc{ID: key.ID.String(), Project: project.Name, ReadOnly: !key.Scope.Right().Edits(), Scope: key.Scope, Expires: console.OptionalTimestamp(key.ExpiresAt)}
}

// until says when the key ends, or "".
func (k keyDoc) until() string {
	if k.Expires == nil {
		return ""
	}
	return ", until " + *k.Expires
}

// owner says in a sentence what the key belongs to.
func (k keyDoc) owner() string {
	if k.Project == "" {
		return "the installation"
	}
	return fmt.Sprintf("the project %q", k.Project)
}

type keyCreateCmd struct {
	Project  string `placeholder:"NAME" help:"Project of the key. Default: default, but with --scope admin the whole installation."`
	Scope    string `default:"read-write" enum:"read-write,read-only,read-ids,admin" placeholder:"SCOPE" help:"What the key may do: read-write, read-only (sees neither UUIDs nor ping URLs), read-ids (is read-only, but sees them) or admin (is read-write, and manages integrations, status pages and projects)."`
	ReadOnly bool   `help:"The same as --scope read-only."`
	Expires  string `env:"-" placeholder:"DATE|DAYS" help:"When the key ends: a number of days such as 90d, the end of a day in UTC such as 2027-03-31, or a time with an offset; at most 10 years ahead. Default: never."`
	console.JSONFlag
	onlyDatabase
}

func (keyCreateCmd) Help() string {
	return `The database stores only a hash of the key. A key of the installation is for the API alone, where ?project=UUID chooses the
project of a request; it does not sign in to the dashboard. A key that expires is refused from then on; a week before, /readyz, the log and
the page Keys warn of it. ` + needsDatabase + `

With --json: {"id", "project", "read_only", "scope", "expires", "api_key"}, where project is empty for a key of the installation, and expires
null for one that never does.

Examples:

    rollcall key create --project backups --read-only
    rollcall key create --scope admin --expires 90d`
}

func (c keyCreateCmd) Run(ctx context.Context, a *App) error {
	scope := checks.Scope(c.Scope)
	if c.ReadOnly {
		if scope != checks.ReadWrite && scope != checks.ReadOnly {
			return console.Usagef("--read-only and --scope %s exclude each other", scope)
		}
		scope = checks.ReadOnly
	}
	print := func(text string, key checks.Key, project checks.Project) error {
		document := struct {
			keyDoc
			APIKey string `json:"api_key"`
		}{newKeyDoc(key, project), text}
		return c.Say(a.Stdout, document, "Created %s %s key for %s%s. It cannot be shown again:\n\n  %s", article(scope), scope, document.owner(), document.until(), text)
	}
	if scope == checks.Admin && c.Project == "" {
		return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
			expires, err := c.expiry(mon.Now())
			if err != nil {
				return err
			}
			text, key, err := mon.Installation().CreateKeyUntil(ctx, expires)
			if err != nil {
				return err
			}
			return print(text, key, checks.Project{})
		})
	}
	return projectFlag{cmp.Or(c.Project, DefaultProject)}.in(ctx, a, func(p project) error {
		expires, err := c.expiry(p.mon.Now())
		if err != nil {
			return err
		}
		text, key, err := p.mon.Project(p.ID).CreateKeyUntil(ctx, scope, expires)
		if err != nil {
			return console.Missing(err, "project %q", p.Name)
		}
		return print(text, key, p.Project)
	})
}

// expiry returns when the key expires, or the zero time.
func (c keyCreateCmd) expiry(now time.Time) (time.Time, error) {
	if c.Expires == "" {
		return time.Time{}, nil
	}
	if number, ok := strings.CutSuffix(c.Expires, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 16); err == nil {
			return now.AddDate(0, 0, int(days)), nil
		}
	}
	if day, err := time.Parse(time.DateOnly, c.Expires); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, c.Expires)
	if err != nil {
		err = console.Usagef("--expires: %q is neither a number of days such as 90d, a day such as 2027-03-31 nor a time such as 2027-03-31T18:00:00Z", c.Expires)
	}
	return at, err
}

// article returns the indefinite article of a scope.
func article(scope checks.Scope) string {
	if scope == checks.Admin {
		return "an"
	}
	return "a"
}

type keyListCmd struct {
	projectFlag
	Installation bool `help:"List the keys of the installation instead."`
	console.JSONFlag
	onlyDatabase
}

// listedKey is a key in the JSON of a list.
type listedKey struct {
	keyDoc
	Hint    string `json:"hint"`
	Created string `json:"created"`
	Expired bool   `json:"expired"`
}

// keyList is how keys are listed.
var keyList = list[listedKey]{
	{"ID", func(k listedKey) string { return k.ID }},
	{"ACCESS", func(k listedKey) string { return string(k.Scope) }},
	{"BEGINS WITH", func(k listedKey) string { return k.Hint }},
	{"CREATED", func(k listedKey) string { return k.Created }},
	{"EXPIRES", func(k listedKey) string {
		if k.Expired {
			return *k.Expires + " (expired)"
		}
		return console.Or(k.Expires)
	}},
}

func (keyListCmd) Help() string {
	return `If the installation has its own keys, which are for all projects, standard error says how many. ` + needsDatabase + `

With --json: an array of ` + keys[listedKey]() + `, where hint is the beginning of the key. One that has expired stays in the list until it is revoked.`
}

func (c keyListCmd) Run(ctx context.Context, a *App) error {
	print := func(mon *monitor.Monitor, keys []checks.Key, project checks.Project, err error) error {
		if err != nil {
			return err
		}
		return keyList.print(c.JSONFlag, a.Stdout, each(keys, func(k checks.Key) listedKey {
			return listedKey{newKeyDoc(k, project), k.Hint, console.Timestamp(k.CreatedAt), k.Expired(mon.Now())}
		}))
	}
	if c.Installation {
		return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
			keys, err := mon.Installation().Keys(ctx)
			return print(mon, keys, checks.Project{}, err)
		})
	}
	return c.in(ctx, a, func(p project) error {
		keys, err := p.mon.Project(p.ID).Keys(ctx)
		if err := print(p.mon, keys, p.Project, err); err != nil {
			return err
		}
		all, err := p.mon.Installation().Keys(ctx)
		if len(all) > 0 {
			a.say("%s of the installation can do everything in this project too; key list --installation lists them", prose.Count(len(all), "key"))
		}
		return err
	})
}

type keyRevokeCmd struct {
	Key string `arg:"" help:"The key itself, or its id as key list shows it."`
	// No default project, because a key or an id identifies its project.
	Project string `placeholder:"NAME" help:"Revoke the key only if it belongs to this project. Any project by default."`
	console.JSONFlag
	onlyDatabase
}

func (keyRevokeCmd) Help() string {
	return `Every server refuses the key within 5 seconds. ` + needsDatabase + `

With --json: {"id", "project", "read_only", "scope", "expires"} of the revoked key.

Example:

    rollcall key revoke 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f`
}

func (c keyRevokeCmd) Run(ctx context.Context, a *App) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		key, project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		revoke := mon.Project(project.ID).DeleteKey
		if project.ID == uuid.Nil {
			revoke = mon.Installation().DeleteKey
		}
		if err := revoke(ctx, key.ID); err != nil {
			return console.Missing(err, "the key")
		}
		document := newKeyDoc(key, project)
		return c.Say(a.Stdout, document, "Revoked the %s key %s of %s.", document.Scope, document.ID, document.owner())
	})
}

// find returns the key with its project, which is the zero value for a key of the installation. Errors do not show the key.
func (c keyRevokeCmd) find(ctx context.Context, mon *monitor.Monitor) (key checks.Key, project checks.Project, err error) {
	projects, err := c.projects(ctx, mon)
	if err != nil {
		return key, project, err
	}
	id, err := uuid.Parse(c.Key)
	if err != nil {
		if key, err = mon.Projects().Authenticate(ctx, c.Key); err != nil && !errors.Is(err, checks.ErrKeyExpired) {
			return key, project, console.Missing(err, "the key")
		}
		id = key.ID
	}
	for _, project := range projects {
		keys, err := mon.Project(project.ID).Keys(ctx)
		if err != nil {
			return key, project, err
		}
		for _, key := range keys {
			if key.ID == id {
				return key, project, nil
			}
		}
	}
	if c.Project != "" {
		return key, project, fmt.Errorf("the project %q has no such key", c.Project)
	}
	keys, err := mon.Installation().Keys(ctx)
	if i := slices.IndexFunc(keys, func(k checks.Key) bool { return k.ID == id }); i >= 0 {
		return keys[i], project, nil
	}
	return key, project, console.Missing(cmp.Or(err, checks.ErrNotFound), "the key")
}

// projects returns the projects that the key may belong to.
func (c keyRevokeCmd) projects(ctx context.Context, mon *monitor.Monitor) ([]checks.Project, error) {
	if c.Project == "" {
		return mon.Projects().List(ctx)
	}
	project, err := projectByName(ctx, mon, c.Project)
	return []checks.Project{project}, err
}

type keyRotatePingCmd struct {
	projectFlags
	console.JSONFlag
}

func (keyRotatePingCmd) Help() string {
	return `All servers refuse pings by slug with the old key at once, also those by e-mail, so give the jobs the new key. Pings by UUID are not
affected.

With --json: {"id", "name", "plan", "ping_key"} of the project.

Example:

    rollcall key rotate-ping --project backups`
}

func (c keyRotatePingCmd) Run(ctx context.Context, a *App) error {
	return c.placeFlags.in(ctx, a, false, func(at place) error {
		p, err := named(ctx, at, c.Project)
		if err != nil {
			return err
		}
		if p.Project, err = at.RotatePingKey(ctx, p.ID); err != nil {
			return console.Missing(err, "project %q", c.Project)
		}
		document := struct {
			projectDoc
			PingKey string `json:"ping_key"`
		}{newProjectDoc(p.Project), p.PingKey}
		return c.Say(a.Stdout, document, "Replaced the ping key of the project %q. The new one is:\n\n  %s", p.Name, p.PingKey)
	})
}
