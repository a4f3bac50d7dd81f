package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
	"github.com/rollcall-dev/rollcall/server/people"
)

// withPeople migrates the database and runs fn with its people and a monitor.
func (a *App) withPeople(ctx context.Context, create bool, fn func(ctx context.Context, known *people.People, mon *monitor.Monitor) error) error {
	return a.withMonitor(ctx, create, func(mon *monitor.Monitor) error {
		known, err := people.New(mon, nil)
		if err != nil {
			return err
		}
		return fn(ctx, known, mon)
	})
}

// userArg is the argument of commands about one person.
type userArg struct {
	Email string `arg:"" help:"E-mail address of the person."`
	onlyDatabase
}

// in runs fn with the person whom the argument names.
func (u userArg) in(ctx context.Context, a *App, fn func(ctx context.Context, known *people.People, mon *monitor.Monitor, p people.Person) error) error {
	return a.withPeople(ctx, false, func(ctx context.Context, known *people.People, mon *monitor.Monitor) error {
		p, err := known.ByEmail(ctx, u.Email)
		if id, parseErr := uuid.Parse(u.Email); parseErr == nil {
			p, err = known.ByID(ctx, id)
		}
		if err != nil {
			return console.Missing(err, "user %q", u.Email)
		}
		err = fn(ctx, known, mon, p)
		if errors.Is(err, people.ErrLastAdmin) {
			return fmt.Errorf("%s is the last administrator; make someone else an administrator first", p.Email)
		}
		return err
	})
}

// unverifiedFlag is the flag of commands that give rights to the owner of an address.
type unverifiedFlag struct {
	Unverified bool `env:"-" help:"Also if the identity provider has not verified the e-mail address of the account."`
}

// check refuses an account that may be somebody else's than that of the address.
func (f unverifiedFlag) check(p people.Person) error {
	if p.Unverified && !f.Unverified {
		return fmt.Errorf("%s has not verified that %s belongs to this account: ask the person, then run the command with --unverified", p.Issuer, p.Email)
	}
	return nil
}

// changeCmd is a command that changes one person and says so.
type changeCmd struct {
	userArg
	console.JSONFlag
}

// change runs fn and prints what it did. With --json: {"id", "email"}.
func (c changeCmd) change(ctx context.Context, a *App, done string, fn func(ctx context.Context, known *people.People, mon *monitor.Monitor, p people.Person) error) error {
	return c.in(ctx, a, func(ctx context.Context, known *people.People, mon *monitor.Monitor, p people.Person) error {
		if err := fn(ctx, known, mon, p); err != nil {
			return err
		}
		document := struct {
			ID    string `json:"id"`
			Email string `json:"email"`
		}{p.ID.String(), p.Email}
		return c.Say(a.Stdout, document, done, p.Email)
	})
}

// linkFlags are the flags of commands that create a one-time link.
type linkFlags struct {
	BaseURL console.Address `placeholder:"URL" help:"URL of the service, with which the link begins (default: that of the server on the database, or else http://localhost:8000)."`
	installation.MailFlags
	console.JSONFlag
}

// Validate checks the flags of the mail server.
func (f linkFlags) Validate() error { return f.CheckMail() }

// linkDoc is a one-time link in JSON.
type linkDoc struct {
	ID      string `json:"id"`
	Email   string `json:"email"`
	Link    string `json:"link"`
	Expires string `json:"expires"`
	Mailed  bool   `json:"mailed"`
}

// hand prints a link, and sends it if there is a mail server. It prints first, so that the link is not lost with the mail.
func (f linkFlags) hand(ctx context.Context, a *App, link people.Link, done string) error {
	base := f.BaseURL
	if base == "" {
		base = a.baseURL()
	}
	d := linkDoc{
		ID: link.Person.ID.String(), Email: link.Person.Email, Link: string(base) + "/signin/" + link.Token,
		Expires: console.Timestamp(link.Until), Mailed: f.MailHost != "",
	}
	err := f.Print(a.Stdout, d, func(w io.Writer) {
		fmt.Fprintf(w, "%s This link works once, until %s, and cannot be shown again:\n\n  %s\n", done, d.Expires, d.Link)
	})
	if err != nil {
		return err
	}
	if f.MailHost == "" {
		if a.servers.Have(channels.Email, installation.FlagMail) {
			a.say("the link was not sent by e-mail, because a command does not have the server's password; pass it on, or give --mail-host and its other flags")
		}
		return nil
	}
	config, err := f.Mail()
	if err != nil {
		return console.Usage(err)
	}
	text := fmt.Sprintf("Choose a password for your Rollcall account %s:\n\n%s\n\nThe link works once, until %s.\n", d.Email, d.Link, d.Expires)
	if err := email.Send(ctx, config, d.Email, "Your Rollcall account", text); err != nil {
		return fmt.Errorf("the link is valid, but could not be sent to %s: %w", d.Email, err)
	}
	return nil
}

type userCreateCmd struct {
	userArg
	Name    string `env:"-" placeholder:"TEXT" help:"Name of the person, which others see."`
	Admin   bool   `env:"-" help:"Make the person an administrator, who owns every project and manages people."`
	Project string `env:"-" placeholder:"NAME" help:"Give the person a role in this project. For more projects, use user role."`
	Role    string `env:"-" enum:",owner,editor,viewer" default:"" placeholder:"owner|editor|viewer" help:"Role in the project: viewers see it, editors can also change checks, and owners can also manage keys and members."`
	linkFlags
}

func (userCreateCmd) Help() string {
	return `Prints a link to choose a password. With --mail-host and --mail-from, the person gets it by e-mail too. ` + needsDatabase + `

With --json: {"id", "email", "link", "expires", "mailed"}.

Example:

    rollcall user create ann@example.org --project backups --role editor --base-url https://rollcall.example.org`
}

// Validate checks that a role and its project come together.
func (c userCreateCmd) Validate() error {
	if (c.Project == "") != (c.Role == "") {
		return errors.New("--project and --role must be given together")
	}
	return cmp.Or(c.onlyDatabase.Validate(), c.linkFlags.Validate())
}

func (c userCreateCmd) Run(ctx context.Context, a *App) error {
	return a.withPeople(ctx, true, func(ctx context.Context, known *people.People, mon *monitor.Monitor) error {
		spec := people.Spec{Email: c.Email, Name: c.Name, Admin: c.Admin}
		if c.Project != "" {
			project, err := projectByName(ctx, mon, c.Project)
			if err != nil {
				return err
			}
			spec.Roles = map[uuid.UUID]people.Role{project.ID: people.Role(c.Role)}
		}
		before, err := known.ByEmail(ctx, c.Email)
		if err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
		p, link, err := known.Create(ctx, spec)
		if errors.Is(err, checks.ErrExists) {
			return fmt.Errorf("user %q exists already; user role changes roles, and user reset-password creates a new link", c.Email)
		}
		if err != nil {
			return err
		}
		if before.Unverified {
			a.say("another user says that they have this address, which %s has not verified; they stay, and user list marks them", before.Issuer)
		}
		return c.hand(ctx, a, link, fmt.Sprintf("Created the user %s.", p.Email))
	})
}

// userDoc is a person in JSON.
type userDoc struct {
	ID         string            `json:"id"`
	Email      string            `json:"email"`
	Name       string            `json:"name"`
	Admin      bool              `json:"admin"`
	Roles      map[string]string `json:"roles"`
	Password   bool              `json:"password"`
	MFA        bool              `json:"mfa"`
	Issuer     string            `json:"issuer"`
	Unverified bool              `json:"unverified"`
	Created    string            `json:"created"`
	Seen       *string           `json:"seen"`
}

// roles describes what a person may do.
func (d userDoc) roles() string {
	if d.Admin {
		return "administrator"
	}
	var list []string
	for project, role := range d.Roles {
		list = append(list, role+" of "+project)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// userList is how people are listed.
var userList = list[userDoc]{
	{"EMAIL", func(d userDoc) string {
		if d.Unverified {
			return d.Email + " (not verified)"
		}
		return d.Email
	}},
	{"NAME", func(d userDoc) string { return d.Name }},
	{"ROLES", userDoc.roles},
	{"SEEN", func(d userDoc) string { return console.Or(d.Seen) }},
}

type userListCmd struct {
	console.JSONFlag
	onlyDatabase
}

func (userListCmd) Help() string {
	return needsDatabase + `

With --json: an array of ` + keys[userDoc]() + `, where roles
maps names of projects to roles, mfa says whether the person has an authenticator app or a passkey, issuer is the identity
provider that the person signs in with, unverified says that it has not verified the address, and seen is the latest visit of an
open session, or null. The other commands take an id in place of an address, which two users can have if it is not verified.`
}

func (c userListCmd) Run(ctx context.Context, a *App) error {
	return a.withPeople(ctx, false, func(ctx context.Context, known *people.People, mon *monitor.Monitor) error {
		list, err := known.List(ctx)
		if err != nil {
			return err
		}
		projects, err := mon.Projects().List(ctx)
		if err != nil {
			return err
		}
		documents := []userDoc{}
		for _, p := range list {
			d := userDoc{
				ID: p.ID.String(), Email: p.Email, Name: p.Name, Admin: p.Admin, Roles: map[string]string{}, Password: p.HasPassword,
				MFA: p.HasTOTP || len(p.Passkeys) > 0, Issuer: p.Issuer, Unverified: p.Unverified, Created: console.Timestamp(p.CreatedAt),
			}
			for _, project := range projects {
				if role := p.Roles[project.ID]; role != "" {
					d.Roles[project.Name] = string(role)
				}
			}
			sessions, err := known.Sessions(ctx, p.ID)
			if err != nil {
				return err
			}
			seen := time.Time{}
			for _, s := range sessions {
				if s.SeenAt.After(seen) {
					seen = s.SeenAt
				}
			}
			d.Seen = console.OptionalTimestamp(seen)
			documents = append(documents, d)
		}
		return userList.print(c.JSONFlag, a.Stdout, documents)
	})
}

type userRoleCmd struct {
	changeCmd
	unverifiedFlag
	Project string `env:"-" placeholder:"NAME" help:"Name of the project."`
	Role    string `env:"-" required:"" enum:"owner,editor,viewer,none,admin,no-admin" placeholder:"owner|editor|viewer|none|admin|no-admin" help:"Role in the project, or none. Without a project: admin makes the person an administrator, and no-admin revokes that."`
}

func (userRoleCmd) Help() string {
	return `Takes effect at the person's next request. If the owner of another project had invited the person, the link, the password and
the sessions from then end: run rollcall user reset-password to give them a new link. ` + needsDatabase + `

With --json: {"id", "email"}.

Example:

    rollcall user role ann@example.org --project backups --role owner`
}

// Validate checks that the project and the role fit.
func (c userRoleCmd) Validate() error {
	if ofAll := c.Role == "admin" || c.Role == "no-admin"; ofAll != (c.Project == "") {
		return errors.New("--role owner, editor, viewer and none need --project; admin and no-admin are for all projects")
	}
	return c.onlyDatabase.Validate()
}

func (c userRoleCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Changed the roles of %s.", func(ctx context.Context, known *people.People, mon *monitor.Monitor, p people.Person) error {
		if err := c.check(p); err != nil {
			return err
		}
		if c.Project == "" {
			if err := known.SetAdmin(ctx, p.ID, c.Role == "admin"); err != nil {
				return err
			}
			return needsLink(ctx, a, known, p)
		}
		project, err := projectByName(ctx, mon, c.Project)
		if err != nil {
			return err
		}
		role := people.Role(c.Role)
		if c.Role == "none" {
			role = ""
		}
		if err := known.SetRole(ctx, p.ID, project.ID, role); err != nil {
			return err
		}
		return needsLink(ctx, a, known, p)
	})
}

// needsLink says that a role has ended what others may hold of an account.
func needsLink(ctx context.Context, a *App, known *people.People, before people.Person) error {
	now, err := known.ByID(ctx, before.ID)
	if err == nil && now.NeedsLink && !before.NeedsLink {
		fmt.Fprintf(a.Stderr, "rollcall: somebody without this right had invited %s, so the link, the password and the sessions have ended; run rollcall user reset-password\n", now.Email)
	}
	return err
}

type userDeleteCmd struct{ changeCmd }

func (userDeleteCmd) Help() string {
	return `Ends the sessions of the person too. ` + needsDatabase + `

With --json: {"id", "email"}.`
}

func (c userDeleteCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Deleted the user %s.", func(ctx context.Context, known *people.People, _ *monitor.Monitor, p people.Person) error {
		return known.Delete(ctx, p.ID)
	})
}

type userResetPasswordCmd struct {
	userArg
	unverifiedFlag
	linkFlags
}

func (userResetPasswordCmd) Help() string {
	return `Prints a link to choose a new password, and ends all sessions. The old password stops working. Use it also to let someone in
while the identity provider is down: the password works beside the provider. ` + needsDatabase + `

With --json: {"id", "email", "link", "expires", "mailed"}.`
}

// Validate checks the flags of the mail server.
func (c userResetPasswordCmd) Validate() error {
	return cmp.Or(c.onlyDatabase.Validate(), c.linkFlags.Validate())
}

func (c userResetPasswordCmd) Run(ctx context.Context, a *App) error {
	return c.userArg.in(ctx, a, func(ctx context.Context, known *people.People, _ *monitor.Monitor, p people.Person) error {
		if err := c.check(p); err != nil {
			return err
		}
		link, err := known.ResetPassword(ctx, p.ID)
		if err != nil {
			return err
		}
		return c.hand(ctx, a, link, fmt.Sprintf("Reset the password of %s.", p.Email))
	})
}

type userResetMFACmd struct{ changeCmd }

func (userResetMFACmd) Help() string {
	return `Removes the authenticator app, the recovery codes and the passkeys, and ends all sessions. ` + needsDatabase + `

With --json: {"id", "email"}.`
}

func (c userResetMFACmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Removed the second factors of %s, and ended all sessions.", func(ctx context.Context, known *people.People, _ *monitor.Monitor, p people.Person) error {
		return known.ResetMFA(ctx, p.ID)
	})
}

type userEndSessionsCmd struct{ changeCmd }

func (userEndSessionsCmd) Help() string {
	return `Signs the person out of every browser. ` + needsDatabase + `

With --json: {"id", "email"}.`
}

func (c userEndSessionsCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Ended all sessions of %s.", func(ctx context.Context, known *people.People, _ *monitor.Monitor, p people.Person) error {
		return known.EndSessions(ctx, p.ID, "")
	})
}
