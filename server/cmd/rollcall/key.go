package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// keyDoc is an API key in JSON.
type keyDoc struct {
	ID       string `json:"id"`
	Project  string `json:"project"`
	ReadOnly bool   `json:"read_only"`
}

func newKeyDoc(key checks.Key, project checks.Project) keyDoc {
	return keyDoc{ID: key.ID.String(), Project: project.Name, ReadOnly: key.ReadOnly}
}

// access describes what a key allows.
func (k keyDoc) access() string {
	if k.ReadOnly {
		return "read-only"
	}
	return "read-write"
}

type keyCreateCmd struct {
	projectFlag
	ReadOnly bool `help:"Create a key that can only read, and sees neither UUIDs nor ping URLs."`
	jsonFlag
}

func (keyCreateCmd) Help() string {
	return `The database stores only a hash of the key.

With --json: {"id", "project", "read_only", "api_key"}.

Example:

    rollcall key create --project backups --read-only`
}

func (c keyCreateCmd) Run(ctx context.Context, a *app) error {
	return c.in(ctx, a, func(mon *monitor.Monitor, project checks.Project) error {
		text, key, err := mon.Project(project.ID).CreateKey(ctx, c.ReadOnly)
		if err != nil {
			return missing(err, "project %q", c.Project)
		}
		document := struct {
			keyDoc
			APIKey string `json:"api_key"`
		}{newKeyDoc(key, project), text}
		return c.say(a.stdout, document, "Created a %s key for the project %q. It cannot be shown again:\n\n  %s",
			document.access(), project.Name, text)
	})
}

type keyListCmd struct {
	projectFlag
	jsonFlag
}

func (keyListCmd) Help() string {
	return `With --json: an array of {"id", "project", "read_only", "hint", "created"}, where hint is the beginning of the key.`
}

func (c keyListCmd) Run(ctx context.Context, a *app) error {
	type listed struct {
		keyDoc
		Hint    string `json:"hint"`
		Created string `json:"created"`
	}
	return c.in(ctx, a, func(mon *monitor.Monitor, project checks.Project) error {
		keys, err := mon.Project(project.ID).Keys(ctx)
		if err != nil {
			return err
		}
		return printList(c.jsonFlag, a.stdout, keys,
			func(k checks.Key) listed { return listed{newKeyDoc(k, project), k.Hint, timestamp(k.CreatedAt)} },
			[]string{"ID", "ACCESS", "BEGINS WITH", "CREATED"},
			func(d listed) []string { return []string{d.ID, d.access(), d.Hint, d.Created} })
	})
}

type keyRevokeCmd struct {
	Key string `arg:"" help:"The key itself, or its id as key list shows it."`
	// No default project, because a key or an id identifies its project.
	Project string `placeholder:"NAME" help:"Revoke the key only if it belongs to this project. Any project by default."`
	jsonFlag
}

func (keyRevokeCmd) Help() string {
	return `Every server refuses the key within 5 seconds.

With --json: {"id", "project", "read_only"} of the revoked key.

Example:

    rollcall key revoke 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f`
}

func (c keyRevokeCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		key, project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		if err := mon.Project(project.ID).DeleteKey(ctx, key.ID); err != nil {
			return missing(err, "the key")
		}
		document := newKeyDoc(key, project)
		return c.say(a.stdout, document, "Revoked the %s key %s of the project %q.", document.access(), document.ID, project.Name)
	})
}

// find returns the key with its project. Errors do not show the key.
func (c keyRevokeCmd) find(ctx context.Context, mon *monitor.Monitor) (key checks.Key, project checks.Project, err error) {
	projects, err := c.projects(ctx, mon)
	if err != nil {
		return key, project, err
	}
	id, err := uuid.Parse(c.Key)
	if err != nil {
		if key, err = mon.Projects().Authenticate(ctx, c.Key); err != nil {
			return key, project, missing(err, "the key")
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
	return key, project, missing(checks.ErrNotFound, "the key")
}

// projects returns the projects that the key may belong to.
func (c keyRevokeCmd) projects(ctx context.Context, mon *monitor.Monitor) ([]checks.Project, error) {
	if c.Project == "" {
		return mon.Projects().List(ctx)
	}
	project, err := projectByName(ctx, mon, c.Project)
	return []checks.Project{project}, err
}
