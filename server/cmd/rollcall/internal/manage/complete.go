package manage

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// completeTime bounds how long the shell waits for words.
const completeTime = 2 * time.Second

// plainWord matches what every shell takes as one word without quotes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./@+-]*$`)

// Words returns the names of the checks, the integrations ("channel") or the projects of the place that flags select, each with a tab
// and a description, for a shell to complete. It changes nothing, and returns nothing on an error.
func (a *App) Words(ctx context.Context, what, project string, url console.Address, key string) (words []string) {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	collect := func(at place) error {
		if what == "project" {
			list, err := at.List(ctx)
			for _, p := range list {
				words = append(words, word(p.Name, "", "")...)
			}
			return err
		}
		p, err := at.project(ctx, project)
		if err != nil {
			return err
		}
		words, err = p.words(ctx, what)
		return err
	}
	flags := placeFlags{URL: url, APIKey: key}
	if url != "" {
		_ = flags.in(ctx, a, false, collect)
		return words
	}
	d, err := a.database()
	if err != nil {
		return nil
	}
	_ = d.Peek(ctx, func(store *sqlstore.Store) error {
		mon, err := monitor.New(store, nil)
		if err != nil {
			return err
		}
		return collect(a.inDatabase(mon))
	})
	return words
}

// words returns the names of the checks or the integrations of the project.
func (p project) words(ctx context.Context, what string) (words []string, err error) {
	if what == "check" {
		list, err := p.Checks(ctx, checks.Query{})
		for _, c := range list {
			words = append(words, word(c.Slug, c.ID.String(), c.DisplayName())...)
		}
		return words, err
	}
	list, err := p.Channels(ctx)
	for _, c := range list {
		words = append(words, word(c.Name, c.ID.String(), string(c.Kind)+" "+c.Name)...)
	}
	return words, err
}

// word returns a name with its description, or what else identifies the thing if the name is no word of a shell.
func word(name, id, description string) []string {
	if !plainWord.MatchString(name) {
		name = id
	}
	if name == "" {
		return nil
	}
	if description == "" {
		return []string{name}
	}
	return []string{name + "\t" + strings.Join(strings.Fields(console.Printable(description)), " ")}
}
