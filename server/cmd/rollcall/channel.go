package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type channelCreateCmd struct {
	projectFlag
	Kind string   `required:"" placeholder:"KIND" help:"Kind of the channel; see rollcall channel kinds."`
	Name string   `placeholder:"NAME" help:"Name of the channel. One that is unique and without commas can be used to assign the channel to a check."`
	Set  []string `sep:"none" placeholder:"KEY=VALUE" help:"A setting of the kind. KEY=@FILE reads the value from a file, KEY=@- from standard input; the value @NAME is written @@NAME. Repeatable."`
	jsonFlag
}

func (channelCreateCmd) Help() string {
	return `Everyone on the machine can see the command line of a process, so give secrets by @FILE or @-. One line break at the end
of what is read does not count.

With --json: {"id", "name", "kind"}.

Examples:

    rollcall channel create --kind email --name ops --set to=ops@example.org
    rollcall channel create --kind webhook --name pager --set url_down=https://example.org/down --set headers_down=@token`
}

// channelDoc is a channel in the JSON of this command line and of the API (API-V3.md section 2.4).
type channelDoc struct {
	ID   string        `json:"id"`
	Name string        `json:"name"`
	Kind channels.Kind `json:"kind"`
}

func newChannelDoc(c channels.Channel) channelDoc {
	return channelDoc{ID: c.ID.String(), Name: c.Name, Kind: c.Kind}
}

// describe names a channel in a sentence.
func (c channelDoc) describe() string {
	if c.Name == "" {
		return fmt.Sprintf("the %s channel %s", c.Kind, c.ID)
	}
	return fmt.Sprintf("the %s channel %q (%s)", c.Kind, c.Name, c.ID)
}

func (c channelCreateCmd) Run(ctx context.Context, a *app) error {
	settings, err := parseSettings(c.Set)
	if err != nil {
		return err
	}
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		channel, err := mon.CreateChannel(ctx, project.ID, channels.Kind(c.Kind), c.Name, settings)
		if err != nil {
			return missing(err, "project %q", c.Project)
		}
		document := newChannelDoc(channel)
		return c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Created %s in the project %q.\n", document.describe(), project.Name)
		})
	})
}

// parseSettings reads the values of --set. Errors do not repeat a value, which may be a secret.
func parseSettings(items []string) (map[string]string, error) {
	settings := make(map[string]string, len(items))
	for i, item := range items {
		key, value, found := strings.Cut(item, "=")
		switch {
		case !found || key == "":
			return nil, usagef("--set: number %d is not of the form KEY=VALUE", i+1)
		case strings.ContainsFunc(key, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_') }):
			return nil, usagef("--set: number %d has a key with other characters than a-z, 0-9 and _", i+1)
		}
		if _, twice := settings[key]; twice {
			return nil, usagef("--set: %s is given twice", key)
		}
		value, err := settingValue(value)
		if err != nil {
			return nil, fmt.Errorf("--set: %s: %w; write @@ for a value that begins with @", key, err)
		}
		settings[key] = value
	}
	return settings, nil
}

// settingValue returns the value that a text after --set KEY= stands for.
func settingValue(text string) (string, error) {
	from, ok := strings.CutPrefix(text, "@")
	switch {
	case !ok:
		return text, nil
	case strings.HasPrefix(from, "@"):
		return from, nil
	case from == "-":
		return secretOf(os.Stdin, "standard input")
	}
	return readSecret(from)
}

type channelListCmd struct {
	projectFlag
	jsonFlag
}

func (channelListCmd) Help() string {
	return `FAILING SINCE is when an alert to the channel was last given up, if none has arrived since.

With --json: an array of {"id", "name", "kind", "failed_at", "error"}; failed_at is null where none has failed.`
}

func (c channelListCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		list, err := mon.Channels(ctx, project.ID)
		if err != nil {
			return err
		}
		type listed struct {
			channelDoc
			FailedAt *string `json:"failed_at"`
			Error    string  `json:"error"`
		}
		documents := make([]listed, len(list))
		rows := [][]string{{"ID", "KIND", "NAME", "FAILING SINCE", "ERROR"}}
		for i, channel := range list {
			documents[i] = listed{newChannelDoc(channel), optionalTimestamp(channel.FailedAt), channel.Error}
			since := ""
			if documents[i].FailedAt != nil {
				since = *documents[i].FailedAt
			}
			rows = append(rows, []string{documents[i].ID, string(channel.Kind), channel.Name, since, channel.Error})
		}
		return c.print(a.stdout, documents, func(w io.Writer) { table(w, rows...) })
	})
}

type channelDeleteCmd struct {
	Channel string `arg:"" help:"Id of the channel, or its name if no other channel of the project has it."`
	projectFlag
	jsonFlag
}

func (channelDeleteCmd) Help() string {
	return `With --json: {"id", "name", "kind"} of the channel that was deleted.`
}

func (c channelDeleteCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		channel, err := findChannel(ctx, mon, project.ID, c.Channel)
		if err != nil {
			return err
		}
		if err := mon.DeleteChannel(ctx, project.ID, channel.ID); err != nil {
			return missing(err, "channel %q", c.Channel)
		}
		document := newChannelDoc(channel)
		return c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Deleted %s of the project %q.\n", document.describe(), project.Name)
		})
	})
}

// pickChannel returns the channel with an id or a name.
func pickChannel(list []channels.Channel, text string) (channels.Channel, error) {
	var named []channels.Channel
	for _, channel := range list {
		if channel.ID.String() == strings.ToLower(text) {
			return channel, nil
		}
		if channel.Name == text && text != "" {
			named = append(named, channel)
		}
	}
	switch len(named) {
	case 0:
		return channels.Channel{}, checks.ErrNotFound
	case 1:
		return named[0], nil
	}
	return channels.Channel{}, fmt.Errorf("%d channels have the name %q, use the id", len(named), text)
}

type channelKindsCmd struct{ jsonFlag }

func (channelKindsCmd) Help() string {
	return `With --json: an array of {"kind", "doc", "settings"}, where settings is an array of {"name", "doc", "required", "secret", "default"}.`
}

// kindDoc is a kind of channels in JSON.
type kindDoc struct {
	Kind     channels.Kind `json:"kind"`
	Doc      string        `json:"doc"`
	Settings []settingDoc  `json:"settings"`
}

type settingDoc struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret"`
	Default  string `json:"default"`
}

func (c channelKindsCmd) Run(a *app) error {
	kinds := channelKinds()
	documents := make([]kindDoc, len(kinds))
	for i, kind := range kinds {
		documents[i] = kindDoc{kind.Kind, kind.Doc, make([]settingDoc, len(kind.Settings))}
		for j, s := range kind.Settings {
			documents[i].Settings[j] = settingDoc{s.Name, s.Doc, s.Required, s.Secret, s.Default}
		}
	}
	return c.print(a.stdout, documents, func(w io.Writer) {
		for i, kind := range documents {
			if i > 0 {
				fmt.Fprintln(w)
			}
			printKind(w, kind)
		}
	})
}

func printKind(w io.Writer, kind kindDoc) {
	fmt.Fprintf(w, "%s: %s\n", kind.Kind, kind.Doc)
	var rows [][]string
	for _, s := range kind.Settings {
		var notes []string
		if s.Required {
			notes = append(notes, "required")
		}
		if s.Secret {
			notes = append(notes, "secret")
		}
		if s.Default != "" {
			notes = append(notes, "default "+s.Default)
		}
		doc := s.Doc
		if len(notes) > 0 {
			doc += " (" + strings.Join(notes, ", ") + ")"
		}
		rows = append(rows, []string{"  " + s.Name, doc})
	}
	table(w, rows...)
}
