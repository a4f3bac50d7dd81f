package manage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// App is the environment of a command.
type App struct {
	Database       string               // the value of --database
	Chosen         bool                 // whether somebody has given it
	Line           []string             // the command line
	Secrets        []string             // names of the environment variables that hold Rollcall's own keys
	servers        installation.Servers // those of the database, once a command has opened it
	Stdout, Stderr io.Writer
}

// database returns the database to work on: the given one, or else the one in this directory, or else that of the service that is
// installed on this machine.
func (a *App) database() (installation.Database, error) {
	d, err := installation.ParseDatabase(a.Database)
	if err != nil || a.Chosen {
		return d, err
	}
	packaged, err := installation.Packaged("/", append([]string{"rollcall"}, a.Line...)...)
	if d.MustExist() == nil {
		if packaged != "" || err != nil {
			a.say("using the database in this directory, %s, not that of the service on this machine; --database selects one", d)
		}
		return d, nil
	}
	if packaged == "" || err != nil {
		return d, err
	}
	return installation.ParseDatabase(packaged)
}

// onRetry says that the command waits before it sends a request again. Short waits are not worth a line.
func (a *App) onRetry(err error, wait time.Duration) {
	if wait >= time.Second {
		fmt.Fprintf(a.Stderr, "rollcall: %s; trying again in %s\n", console.OneLine(err.Error()), prose.Duration(wait.Round(time.Second)))
	}
}

// say writes a line to standard error.
func (a *App) say(format string, args ...any) {
	fmt.Fprintf(a.Stderr, "rollcall: %s\n", console.OneLine(fmt.Sprintf(format, args...)))
}

// warn says on standard error what is likely not meant.
func (a *App) warn(warnings []string) {
	for _, text := range warnings {
		a.say("%s", text)
	}
}

// baseURL returns the base URL that links of a command begin with, and says where it is from.
func (a *App) baseURL() console.Address {
	if len(a.servers.List) == 0 {
		a.say("no server has run on this database yet, so the link begins with %s; --base-url sets another URL", localBase)
		return localBase
	}
	server := a.servers.List[0]
	others := slices.ContainsFunc(a.servers.List, func(d installation.Server) bool { return d.BaseURL != server.BaseURL })
	switch {
	case a.servers.Gone:
		a.say("no server runs on this database now, so the link begins with the base URL of the last one, %s; --base-url sets another", server)
	case others:
		var list []string
		for _, d := range a.servers.List {
			list = append(list, fmt.Sprintf("%s has %s", d, d.BaseURL))
		}
		a.say("the servers on this database have different base URLs: %s; the link begins with the first, --base-url sets another", strings.Join(list, ", "))
	default:
		a.say("the link begins with the base URL of %s; --base-url sets another", server)
	}
	return server.BaseURL
}

// localBase is the base URL of a server that nobody has configured.
const localBase console.Address = "http://localhost:8000"

// addresses are where a server is for its clients.
type addresses struct {
	base, ping console.Address // ping is "" with --url: the server says it
	pingSet    bool            // by a flag
	note       string          // why ping may be wrong, or ""
}

// addresses returns where the server on the database is, or the one that ran last.
func (a *App) addresses() addresses {
	if len(a.servers.List) == 0 {
		return addresses{base: localBase, ping: localBase + "/ping", note: "no server has run on this database yet, so the ping URL begins with " +
			string(localBase) + "/ping; --ping-base-url sets another"}
	}
	server := a.servers.List[0]
	found := addresses{base: server.BaseURL, ping: cmp.Or(server.PingBaseURL, server.BaseURL+"/ping")}
	if slices.ContainsFunc(a.servers.List, func(d installation.Server) bool { return d.PingBaseURL != server.PingBaseURL }) {
		found.note = fmt.Sprintf("the servers on this database have different ping base URLs; this one is of %s, --ping-base-url sets another", server)
	}
	return found
}

// pingAddress is the flag of commands that print a ping URL.
type pingAddress struct {
	PingBaseURL console.Address `placeholder:"URL" help:"URL of the ping endpoints, with which the ping URL begins (default: that of the server)."`
}

// override returns the addresses with that of the flag.
func (f pingAddress) override(found addresses) addresses {
	if f.PingBaseURL != "" {
		found.ping, found.pingSet, found.note = f.PingBaseURL, true, ""
	}
	return found
}

// didYouMean suggests one of the names for a text that none of them is, as the end of an error.
func didYouMean(text string, names []string) string {
	if similar := prose.Similar(text, slices.Values(names)); similar != "" {
		return fmt.Sprintf("; did you mean %q?", similar)
	}
	return ""
}

// noteNeeds says on standard error what is likely to go wrong with the settings of an integration, and which flag the servers
// lack to deliver to it.
func (a *App) noteNeeds(ctx context.Context, c channels.Channel) error {
	flag, warning, err := installation.NeedsOf(ctx, c)
	if err != nil {
		return err
	}
	if warning != nil {
		a.say("%s: %s", warning.Setting, warning.Reason)
	}
	if lacking := a.servers.Lacking(c.Kind, flag); len(a.servers.List) == 0 && flag != "" {
		a.say("alerts to %s need a server with %s", newChannelDoc(c), flag)
	} else if len(lacking) > 0 {
		a.say("alerts to %s need a server with %s, which %s lacks", newChannelDoc(c), flag, lacking[0])
	}
	return nil
}
