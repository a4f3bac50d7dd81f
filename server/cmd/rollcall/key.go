package main

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type keyCreateCmd struct {
	projectFlag
	ReadOnly bool `help:"Make a key that can only read, and is shown no secrets."`
	jsonFlag
}

func (keyCreateCmd) Help() string {
	return `The key is not stored and cannot be shown again.

With --json: {"id", "project", "read_only", "api_key"}.

Example:

    rollcall key create --project backups --read-only`
}

// keyDoc is an API key in the JSON of this command line.
type keyDoc struct {
	ID       string `json:"id"`
	Project  string `json:"project"`
	ReadOnly bool   `json:"read_only"`
}

func newKeyDoc(key checks.Key, project checks.Project) keyDoc {
	return keyDoc{ID: key.ID.String(), Project: project.Name, ReadOnly: key.ReadOnly}
}

// access says in words what a key may do.
func (k keyDoc) access() string {
	if k.ReadOnly {
		return "read-only"
	}
	return "read-write"
}

func (c keyCreateCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		text, key, err := mon.CreateKey(ctx, project.ID, c.ReadOnly)
		if err != nil {
			return missing(err, "project %q", c.Project)
		}
		document := struct {
			keyDoc
			APIKey string `json:"api_key"`
		}{newKeyDoc(key, project), text}
		return c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Created a %s key for the project %q. It is shown this once:\n\n  %s\n", document.access(), project.Name, text)
		})
	})
}

type keyListCmd struct {
	projectFlag
	jsonFlag
}

func (keyListCmd) Help() string {
	return `With --json: an array of {"id", "project", "read_only", "hint", "created"}; hint is how the key begins.`
}

func (c keyListCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		keys, err := mon.Keys(ctx, project.ID)
		if err != nil {
			return err
		}
		type listed struct {
			keyDoc
			Hint    string `json:"hint"`
			Created string `json:"created"`
		}
		documents := make([]listed, len(keys))
		rows := [][]string{{"ID", "ACCESS", "BEGINS WITH", "CREATED"}}
		for i, key := range keys {
			documents[i] = listed{newKeyDoc(key, project), key.Hint, timestamp(key.CreatedAt)}
			rows = append(rows, []string{documents[i].ID, documents[i].access(), key.Hint, documents[i].Created})
		}
		return c.print(a.stdout, documents, func(w io.Writer) { table(w, rows...) })
	})
}

type keyRevokeCmd struct {
	Key string `arg:"" help:"The key itself, or its id as key list shows it."`
	// No default: an id and a key are found without knowing the project.
	Project string `placeholder:"NAME" help:"Revoke it only if it belongs to this project."`
	jsonFlag
}

func (keyRevokeCmd) Help() string {
	return `Requests with the key are refused from then on, within 5 seconds on every server.

With --json: {"id", "project", "read_only"} of the key that was revoked.`
}

func (c keyRevokeCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		key, project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		if err := mon.RevokeKey(ctx, project.ID, key.ID); err != nil {
			return missing(err, "the key")
		}
		document := newKeyDoc(key, project)
		return c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Revoked the %s key %s of the project %q.\n", document.access(), document.ID, project.Name)
		})
	})
}

// find returns the key that is meant, with its project. Errors do not repeat a key.
func (c keyRevokeCmd) find(ctx context.Context, mon *monitor.Monitor) (checks.Key, checks.Project, error) {
	projects, err := c.projects(ctx, mon)
	if err != nil {
		return checks.Key{}, checks.Project{}, err
	}
	id, err := uuid.Parse(c.Key)
	if err != nil {
		key, err := mon.Authenticate(ctx, c.Key)
		if err != nil {
			return checks.Key{}, checks.Project{}, missing(err, "the key")
		}
		id = key.ID
	}
	for _, project := range projects {
		keys, err := mon.Keys(ctx, project.ID)
		if err != nil {
			return checks.Key{}, checks.Project{}, err
		}
		for _, key := range keys {
			if key.ID == id {
				return key, project, nil
			}
		}
	}
	if c.Project != "" {
		return checks.Key{}, checks.Project{}, fmt.Errorf("the project %q has no such key", c.Project)
	}
	return checks.Key{}, checks.Project{}, missing(checks.ErrNotFound, "the key")
}

// projects returns the projects whose keys may be meant.
func (c keyRevokeCmd) projects(ctx context.Context, mon *monitor.Monitor) ([]checks.Project, error) {
	if c.Project == "" {
		return mon.Projects(ctx)
	}
	project, err := projectByName(ctx, mon, c.Project)
	return []checks.Project{project}, err
}
