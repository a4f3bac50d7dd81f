package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// userCmds are the commands that manage people.
type userCmds struct {
	Create        userCreateCmd        `cmd:"" help:"Create an account and print a link with which its person chooses a password."`
	List          userListCmd          `cmd:"" help:"List the people with accounts, and their roles."`
	Delete        userDeleteCmd        `cmd:"" help:"Delete an account and end its sessions."`
	ResetPassword userResetPasswordCmd `cmd:"" help:"Remove the password of an account and print a link to choose a new one."`
	ResetMFA      userResetMFACmd      `cmd:"" name:"reset-mfa" help:"Remove the authenticator app, the recovery codes and the passkeys of an account."`
	EndSessions   userEndSessionsCmd   `cmd:"" help:"Sign a person out everywhere."`
}

// withPeople runs fn with the people of the database, as the user of the machine. If create is set, it creates a missing
// SQLite file.
func (a *app) withPeople(ctx context.Context, create bool, fn func(ctx context.Context, known *people.People, mon *monitor.Monitor) error) error {
	d, err := parseDatabase(a.database)
	if err != nil {
		return err
	}
	actor := audit.Actor{Kind: audit.CommandLine}
	if self, err := user.Current(); err == nil {
		actor.Name = self.Username
	}
	return d.withStore(ctx, create, func(store *sqlstore.Store) error {
		mon, err := monitor.New(store, &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
		if err != nil {
			return err
		}
		known, err := people.New(store, &people.Config{Audit: true})
		if err != nil {
			return err
		}
		return fn(audit.WithActor(ctx, actor), known, mon)
	})
}

// emailArg names a person.
type emailArg struct {
	Email string `arg:"" help:"E-mail address of the person."`
}

// of runs fn with the person that the argument names.
func (e emailArg) of(ctx context.Context, a *app, fn func(ctx context.Context, known *people.People, who people.Person) error) error {
	return a.withPeople(ctx, false, func(ctx context.Context, known *people.People, _ *monitor.Monitor) error {
		who, err := known.ByEmail(ctx, e.Email)
		if err != nil {
			return missing(err, "user %q", e.Email)
		}
		return fn(ctx, known, who)
	})
}

// linkFlag is the flag of commands that print a link to the pages.
type linkFlag struct {
	BaseURL address `default:"http://localhost:8000" placeholder:"URL" help:"URL of the service, as serve has it."`
}

// linkDoc is a one-time link in JSON.
type linkDoc struct {
	Email string    `json:"email"`
	Link  string    `json:"link"`
	Until time.Time `json:"until"`
}

func (f linkFlag) document(l people.Link) linkDoc {
	return linkDoc{Email: l.Person.Email, Link: string(f.BaseURL) + "/signin/" + l.Token, Until: l.Until.UTC().Truncate(time.Second)}
}

type userCreateCmd struct {
	emailArg
	Name    string `placeholder:"TEXT" help:"Name of the person."`
	Admin   bool   `help:"Make an administrator, who manages all projects and people."`
	Project string `placeholder:"NAME" help:"Name of a project in which the person gets a role."`
	Role    string `default:"viewer" enum:"owner,editor,viewer" placeholder:"owner|editor|viewer" help:"Role in the project: an owner also manages its members, keys and settings."`
	linkFlag
	jsonFlag
}

func (userCreateCmd) Help() string {
	return `The link works once. Pass it on to the person.

With --json: {"email", "link", "until"}.

Examples:

    rollcall user create ann@example.org --admin
    rollcall user create bob@example.org --project backups --role editor --base-url https://rollcall.example.org`
}

func (c userCreateCmd) Run(ctx context.Context, a *app) error {
	return a.withPeople(ctx, true, func(ctx context.Context, known *people.People, mon *monitor.Monitor) error {
		spec := people.Spec{Email: c.Email, Name: c.Name, Admin: c.Admin}
		if c.Project != "" {
			project, err := projectByName(ctx, mon, c.Project)
			if err != nil {
				return err
			}
			spec.Roles = map[uuid.UUID]people.Role{project.ID: people.Role(c.Role)}
		}
		_, link, err := known.Create(ctx, spec)
		if errors.Is(err, checks.ErrExists) {
			return fmt.Errorf("user %q exists already; rollcall user reset-password prints a new link", c.Email)
		}
		if err != nil {
			return err
		}
		d := c.document(link)
		return c.say(a.stdout, d, "Created the account of %s. This link works once, until %s:\n\n  %s", d.Email, d.Until.Format(time.RFC3339), d.Link)
	})
}

type userListCmd struct{ jsonFlag }

func (userListCmd) Help() string {
	return `With --json: an array of {"email", "name", "admin", "roles", "provider", "password", "totp", "passkeys", "created"}, where roles has
the role by the name of each project.`
}

// userDoc is a person in JSON.
type userDoc struct {
	Email    string            `json:"email"`
	Name     string            `json:"name"`
	Admin    bool              `json:"admin"`
	Roles    map[string]string `json:"roles"`
	Provider string            `json:"provider"`
	Password bool              `json:"password"`
	TOTP     bool              `json:"totp"`
	Passkeys int               `json:"passkeys"`
	Created  time.Time         `json:"created"`
}

// row is the line of a person in the list.
func (d userDoc) row() []string {
	roles := []string{}
	if d.Admin {
		roles = append(roles, "administrator")
	}
	for _, project := range slices.Sorted(maps.Keys(d.Roles)) {
		roles = append(roles, d.Roles[project]+" of "+project)
	}
	return []string{d.Email, d.Name, strings.Join(roles, ", ")}
}

func (c userListCmd) Run(ctx context.Context, a *app) error {
	return a.withPeople(ctx, false, func(ctx context.Context, known *people.People, mon *monitor.Monitor) error {
		list, err := known.List(ctx)
		if err != nil {
			return err
		}
		projects, err := mon.Projects().List(ctx)
		if err != nil {
			return err
		}
		return printList(c.jsonFlag, a.stdout, list, func(p people.Person) userDoc {
			d := userDoc{Email: p.Email, Name: p.Name, Admin: p.Admin, Roles: map[string]string{}, Provider: p.Issuer, Password: p.HasPassword,
				TOTP: p.HasTOTP, Passkeys: len(p.Passkeys), Created: p.CreatedAt.UTC().Truncate(time.Second)}
			for _, project := range projects {
				if role := p.Roles[project.ID]; role != "" {
					d.Roles[project.Name] = string(role)
				}
			}
			return d
		}, []string{"EMAIL", "NAME", "ROLES"}, userDoc.row)
	})
}

type userDeleteCmd struct{ emailArg }

func (c userDeleteCmd) Run(ctx context.Context, a *app) error {
	return c.of(ctx, a, func(ctx context.Context, known *people.People, who people.Person) error {
		err := known.Delete(ctx, who.ID)
		if field, ok := errors.AsType[*checks.FieldError](err); ok {
			return errors.New(field.Error()) // the command line is fine, but nobody else administers
		}
		if err != nil {
			return err
		}
		return done(a, "Deleted the account of %s.", who)
	})
}

type userResetPasswordCmd struct {
	emailArg
	linkFlag
	jsonFlag
}

func (userResetPasswordCmd) Help() string {
	return `The old password stops working at once, and all sessions end. The link signs in without an identity provider, so it is also the
door when the provider is away.

With --json: {"email", "link", "until"}.`
}

func (c userResetPasswordCmd) Run(ctx context.Context, a *app) error {
	return c.of(ctx, a, func(ctx context.Context, known *people.People, who people.Person) error {
		link, err := known.ResetPassword(ctx, who.ID)
		if err != nil {
			return err
		}
		d := c.document(link)
		return c.say(a.stdout, d, "Removed the password of %s. This link to choose a new one works once, until %s:\n\n  %s", d.Email, d.Until.Format(time.RFC3339), d.Link)
	})
}

type userResetMFACmd struct{ emailArg }

func (c userResetMFACmd) Run(ctx context.Context, a *app) error {
	return c.of(ctx, a, func(ctx context.Context, known *people.People, who people.Person) error {
		if err := known.ResetMFA(ctx, who.ID); err != nil {
			return err
		}
		return done(a, "Removed the authenticator app, the recovery codes and the passkeys of %s.", who)
	})
}

type userEndSessionsCmd struct{ emailArg }

func (c userEndSessionsCmd) Run(ctx context.Context, a *app) error {
	return c.of(ctx, a, func(ctx context.Context, known *people.People, who people.Person) error {
		if err := known.EndSessions(ctx, who.ID, ""); err != nil {
			return err
		}
		return done(a, "Ended all sessions of %s.", who)
	})
}

// done prints what was done to a person.
func done(a *app, format string, who people.Person) error {
	_, err := fmt.Fprintf(a.stdout, format+"\n", who.Email)
	return err
}
