package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// channelDoc is an integration in the JSON of this command line and of the API (server/API.md section 2.4).
type channelDoc struct {
	ID   string        `json:"id"`
	Name string        `json:"name"`
	Kind channels.Kind `json:"kind"`
}

func newChannelDoc(c channels.Channel) channelDoc {
	return channelDoc{ID: c.ID.String(), Name: c.Name, Kind: c.Kind}
}

// String names the integration in a sentence.
func (d channelDoc) String() string {
	if d.Name == "" {
		return fmt.Sprintf("the %s integration %s", d.Kind, d.ID)
	}
	return fmt.Sprintf("the %s integration %q (%s)", d.Kind, d.Name, d.ID)
}

type channelCreateCmd struct {
	projectFlags
	Kind      string   `required:"" completion:"kind" placeholder:"KIND" help:"Kind of the integration; rollcall channel kinds lists them."`
	Name      string   `placeholder:"NAME" help:"Name of the integration, up to 100 characters. Checks can use the name instead of the id if it is unique and has no comma."`
	Set       []string `sep:"none" placeholder:"KEY=VALUE" help:"A setting of the kind. KEY=@FILE reads the value from a file, KEY=@- from standard input; write @@ for a leading @. Repeatable."`
	AllChecks bool     `env:"-" help:"Let all checks that the project has now alert it."`
	console.JSONFlag
}

func (channelCreateCmd) Help() string {
	return `Every user of the machine can see the command line of a process, so pass secrets with @FILE or @-. A line break at the end
of a file is not part of the value.

No check alerts a new integration, not even one that was given all integrations before. --all-checks or channel assign change
that.

If the servers on the database lack a flag to deliver the alerts, standard error names it, such as --mail-host.

With --json: ` + keys[channelDoc]() + `.

Examples:

    rollcall channel create --kind email --name ops --set to=ops@example.org --all-checks
    rollcall channel create --kind webhook --name pager --set url_down=https://example.org/down --set headers_down=@token
    rollcall channel create --kind slack --name chat --set webhook_url=@url --set notify=down`
}

func (c channelCreateCmd) Run(ctx context.Context, a *App) error {
	settings, err := parseSettings(c.Set)
	if err != nil {
		return err
	}
	return c.in(ctx, a, func(p project) error {
		channel, err := p.CreateChannel(ctx, channels.Channel{Kind: channels.Kind(c.Kind), Name: c.Name, Settings: settings})
		if unknown, ok := errors.AsType[*channels.KindError](err); ok {
			return unknownKind("--kind", c.Kind, unknown.Known)
		}
		if err != nil {
			return console.Missing(err, "project %q", c.Project)
		}
		if p.mon != nil { // a server refuses what it cannot deliver
			if err := a.noteNeeds(ctx, channel); err != nil {
				return err
			}
		}
		document := newChannelDoc(channel)
		if err := c.Say(a.Stdout, document, "Created %s in the project %q.", document, p.Name); err != nil {
			return err
		}
		list, err := p.Checks(ctx, checks.Query{})
		switch {
		case err != nil:
			return err
		case c.AllChecks:
			_, err = p.assignTo(ctx, list, channel.ID)
			return err
		case len(list) > 0:
			assign := console.ShellCommand("rollcall", "channel", "assign", channel.ID.String(), "--project", p.Name)
			console.Fail(a.Stderr, fmt.Errorf("it has no checks yet; to assign it to %s: %s", prose.Count(len(list), "check"), assign))
		}
		return nil
	})
}

// parseSettings reads the values of --set. Errors do not repeat a value, which may be a secret.
func parseSettings(items []string) (map[string]string, error) {
	settings := make(map[string]string, len(items))
	for i, item := range items {
		key, value, found := strings.Cut(item, "=")
		switch {
		case !found || key == "":
			return nil, console.Usagef("--set: number %d is not of the form KEY=VALUE", i+1)
		case strings.ContainsFunc(key, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_') }):
			return nil, console.Usagef("--set: the key of number %d may only have a-z, 0-9 and _", i+1)
		}
		if _, twice := settings[key]; twice {
			return nil, console.Usagef("--set: %s is given twice", key)
		}
		value, err := settingValue(value)
		if err != nil {
			return nil, fmt.Errorf("--set: %s: %w; write @@ for a value that begins with @", key, err)
		}
		settings[key] = value
	}
	return settings, nil
}

// settingValue returns the value for the text after --set KEY=: the text itself, or the content of its file.
func settingValue(text string) (string, error) {
	from, ok := strings.CutPrefix(text, "@")
	switch {
	case !ok:
		return text, nil
	case strings.HasPrefix(from, "@"):
		return from, nil
	case from == "-":
		return console.SecretOf(os.Stdin, "standard input")
	}
	content, err := console.ReadFile(from)
	if err != nil {
		return "", err
	}
	return console.SecretOf(strings.NewReader(content), from)
}

type channelListCmd struct {
	projectFlags
	console.JSONFlag
}

// listedChannel is an integration in the JSON of a list.
type listedChannel struct {
	channelDoc
	Notify   string  `json:"notify"`
	State    string  `json:"state"`
	FailedAt *string `json:"failed_at"`
	Error    string  `json:"error"`
}

// channelList is how integrations are listed.
var channelList = list[listedChannel]{
	{"ID", func(d listedChannel) string { return d.ID }},
	{"KIND", func(d listedChannel) string { return string(d.Kind) }},
	{"NAME", func(d listedChannel) string { return d.Name }},
	{"NOTIFY", func(d listedChannel) string { return d.Notify }},
	{"FAILING SINCE", func(d listedChannel) string { return console.Or(d.FailedAt) }},
	{"ERROR", func(d listedChannel) string { return d.Error }},
}

func (channelListCmd) Help() string {
	return `NOTIFY says which alerts the integration gets: about down, about up, or both. FAILING SINCE is since when alerts do not
arrive, or not all. It is empty once a later alert is sent.

With --json: an array of ` + keys[listedChannel]() + `. state is that of a receiver
of rollcall check rehearse, and failed_at is null if no alert fails. With --url, state is "", and a read-write key shows only
id, name and kind.`
}

func (c channelListCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		list, reach, err := p.reach(ctx)
		if err != nil {
			return err
		}
		return channelList.print(c.JSONFlag, a.Stdout, each(list, func(c channels.Channel) listedChannel {
			r := reach[c.ID]
			return listedChannel{newChannelDoc(c), notifies(c), r.State, console.OptionalTimestamp(r.Since), r.Error}
		}))
	})
}

// reach returns the integrations with their settings, as far as the key may see them, and what becomes of their alerts.
func (p project) reach(ctx context.Context) (list []channels.Channel, reach map[uuid.UUID]verdict.Reach, err error) {
	if p.ID == uuid.Nil { // a read-write key
		list, err = p.Channels(ctx)
		return list, nil, err
	}
	if list, err = p.ChannelsWithSettings(ctx); err != nil {
		return nil, nil, err
	}
	if p.mon != nil {
		reach, err = p.mon.Project(p.ID).Reach(ctx, list, false)
		return list, reach, err
	}
	reach = make(map[uuid.UUID]verdict.Reach)
	for _, c := range list {
		reach[c.ID] = verdict.Reach{Since: c.FailedAt, Error: c.Error}
	}
	return list, reach, nil
}

// notifies returns which alerts an integration gets, in the words of its setting notify, or "" if the key does not show its settings.
func notifies(c channels.Channel) string {
	if c.Settings == nil {
		return ""
	}
	switch down, up := c.Wants(channels.Down), c.Wants(channels.Up); {
	case down && !up:
		return string(channels.Down)
	case up && !down:
		return string(channels.Up)
	}
	return "both"
}

type channelDeleteCmd struct {
	Channel string `arg:"" completion:"channel" help:"Id of the integration, or its name if no other integration of the project has it."`
	projectFlags
	console.JSONFlag
}

func (channelDeleteCmd) Help() string {
	return `Its alerts are deleted too, even pending ones.

With --json: ` + keys[channelDoc]() + ` of the deleted integration.`
}

func (c channelDeleteCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		channel, err := p.channel(ctx, c.Channel)
		if err != nil {
			return err
		}
		if err := p.DeleteChannel(ctx, channel.ID); err != nil {
			return console.Missing(err, "integration %q", c.Channel)
		}
		document := newChannelDoc(channel)
		return c.Say(a.Stdout, document, "Deleted %s of the project %q.", document, p.Name)
	})
}

type channelTestCmd struct {
	Channel string `arg:"" completion:"channel" help:"Id of the integration, or its name if no other integration of the project has it."`
	projectFlag
	installation.NotifierFlags
	console.JSONFlag
	onlyDatabase
}

func (channelTestCmd) Help() string {
	return `The server on the database sends the alert, as it sends all others. The command sends it itself, with its own flags, if one of
the flags or variables for alerts is set, or if no server answers; standard error says so. The alert says that it is a test. A
test of a group goes to each member. The exit status is 1 if a receiver does not accept the alert. ` + needsDatabase + `

With --json: {"id", "name", "kind", "sent", "error", "sender"}, where sender names the server, or is "this command".

Examples:

    rollcall channel test ops
    rollcall channel test ops --mail-host smtp.example.org --mail-from rollcall@example.org`
}

// Validate checks the flags about delivery. Kong calls it.
func (c channelTestCmd) Validate() error { return cmp.Or(c.onlyDatabase.Validate(), c.Check()) }

func (c channelTestCmd) Run(ctx context.Context, a *App) error {
	var config monitor.Config
	var opened *monitor.Monitor
	c.Secret = func(ctx context.Context, name string) (string, error) {
		return opened.Installation().Secret(ctx, name)
	}
	if err := c.Apply(&config); err != nil {
		return err
	}
	return a.withConfig(ctx, false, func(installation.Servers) *monitor.Config { return &config }, func(mon *monitor.Monitor) error {
		opened = mon
		p, err := a.inDatabase(mon).project(ctx, c.Project)
		if err != nil {
			return console.Missing(err, "project %q", c.Project)
		}
		channel, err := p.channel(ctx, c.Channel)
		if err != nil {
			return err
		}
		sender, failure := c.send(ctx, a, mon, channel)
		document := struct {
			channelDoc
			Sent   bool   `json:"sent"`
			Error  string `json:"error"`
			Sender string `json:"sender"`
		}{channelDoc: newChannelDoc(channel), Sent: failure == nil, Sender: sender}
		if failure != nil {
			document.Error = failure.Error()
			if !c.JSON {
				return fmt.Errorf("%s: %w (tried by %s)", document, failure, sender)
			}
		}
		return errors.Join(c.Say(a.Stdout, document, "Sent a test alert to %s, by %s.", document, sender), failure)
	})
}

// send sends the test alert, and returns who has: a server that can, or else this command.
func (c channelTestCmd) send(ctx context.Context, a *App, mon *monitor.Monitor, channel channels.Channel) (sender string, err error) {
	const itself = "this command"
	flag, _, err := installation.NeedsOf(ctx, channel)
	switch {
	case err != nil:
		return itself, err
	case c.Given(), a.servers.Gone, len(a.servers.List) == 0:
		if !c.Given() {
			a.say("no server runs on this database now, so the command sends the test itself, with its own flags")
		}
		return itself, mon.Project(channel.ProjectID).TestChannel(ctx, channel.ID)
	}
	lacking := a.servers.Lacking(channel.Kind, flag)
	able := slices.DeleteFunc(slices.Clone(a.servers.List), func(d installation.Server) bool { return d.Lacks(channel.Kind, flag) })
	if len(able) > 0 && len(lacking) > 0 {
		a.say("alerts to %s need a server with %s, which %s lacks", newChannelDoc(channel), flag, lacking[0])
	}
	for _, server := range append(able, lacking...) {
		answer, err := server.Ask(ctx, mon, channel)
		switch {
		case errors.Is(err, installation.ErrNoAnswer):
			a.say("%s does not answer", server)
			continue
		case err == nil && answer.Error != "":
			err = errors.New(answer.Error)
		}
		return server.String(), err
	}
	a.say("no server answers, so the command sends the test itself, with its own flags")
	return itself, mon.Project(channel.ProjectID).TestChannel(ctx, channel.ID)
}

// unknownKind returns the error of a kind that none of the known ones is.
func unknownKind(what, kind string, known []channels.Kind) error {
	names := each(known, func(k channels.Kind) string { return string(k) })
	return console.Usagef("%s: no kind of integration is called %q; rollcall channel kinds lists them%s", what, kind, didYouMean(kind, names))
}

type channelKindsCmd struct {
	Kind string `arg:"" optional:"" completion:"kind" help:"Only this kind."`
	console.JSONFlag
}

func (channelKindsCmd) Help() string {
	return `With --json: an array of {"kind", "doc", "setup", "settings"}, where settings is an array of {"name", "doc", "required", "secret", "default"}.`
}

// kindDoc is a kind of integrations in JSON.
type kindDoc struct {
	Kind     channels.Kind `json:"kind"`
	Doc      string        `json:"doc"`
	Setup    string        `json:"setup"`
	Settings []settingDoc  `json:"settings"`
}

type settingDoc struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret"`
	Default  string `json:"default"`
}

func (c channelKindsCmd) Run(a *App) error {
	var documents []kindDoc
	var known []channels.Kind
	for _, kind := range standard.Kinds() {
		if known = append(known, kind.Kind); c.Kind != "" && string(kind.Kind) != c.Kind {
			continue
		}
		document := kindDoc{kind.Kind, kind.Doc, kind.Setup, []settingDoc{}}
		for _, s := range kind.AllSettings() {
			document.Settings = append(document.Settings, settingDoc{s.Name, s.Doc, s.Required, s.Secret, s.Default})
		}
		documents = append(documents, document)
	}
	if len(documents) == 0 {
		return unknownKind("kind", c.Kind, known)
	}
	return c.Print(a.Stdout, documents, func(w io.Writer) {
		for i, kind := range documents {
			if i > 0 {
				fmt.Fprintln(w)
			}
			kind.write(w)
		}
	})
}

func (d kindDoc) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", d.Kind, d.Doc)
	if d.Setup != "" {
		fmt.Fprintf(w, "  %s\n", d.Setup)
	}
	var rows [][]string
	for _, s := range d.Settings {
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
	console.Table(w, rows...)
}
