package manage

import (
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
	Secrets        []string             // names of the environment variables that hold Rollcall's own keys
	servers        installation.Servers // those of the database, once a command has opened it
	Stdout, Stderr io.Writer
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
	const local console.Address = "http://localhost:8000"
	if len(a.servers.List) == 0 {
		a.say("no server has run on this database yet, so the link begins with %s; --base-url sets another URL", local)
		return local
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
