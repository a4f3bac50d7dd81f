package manage

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/discover"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/wrap"
)

// wrapFlags change crontabs and units.
type wrapFlags struct {
	Wrap        bool            `env:"-" xor:"wrap" help:"Make the jobs report: put rollcall run in front of commands in crontabs, and drop-ins beside services."`
	Unwrap      bool            `env:"-" xor:"wrap" help:"Undo what --wrap did, in all crontabs and services."`
	Yes         bool            `env:"-" help:"Make the changes of --wrap or --unwrap without asking."`
	Binary      string          `env:"-" placeholder:"PATH" completion:"file" help:"The rollcall that wrapped jobs run (default: this program)."`
	PingBaseURL console.Address `placeholder:"URL" help:"URL of the ping endpoints, for the file with the key that --wrap writes if it is missing."`
	PingKey     string          `secret:"" placeholder:"KEY" help:"Ping key of the project, for the same file."`
}

// noWrapTexts are the reasons why a job cannot be wrapped in words.
var noWrapTexts = map[string]string{
	"background":      "& leaves the job in the background, so rollcall would not see how it ends",
	"carriage-return": "the line ends in a carriage return, which is part of the command",
	"continued":       "a backslash continues it on the next line; write it on one",
	"network":         "the service has no network",
	"reboot":          "it runs once after boot",
	"sandbox":         "the service does not see the files of the machine",
	"script":          "run-parts runs it by its name; call rollcall run or rollcall ping in the script",
	"service-type":    "systemd does not know when a run of such a service ends",
	"shell":           "its SHELL is none of sh, bash, dash, ash, ksh and zsh",
	"too-long":        "cron would cut the line",
}

// Validate checks the flags. Kong calls it.
func (c *discoverCmd) Validate() error {
	changes := c.Wrap || c.Unwrap
	switch {
	case changes && len(c.Paths) > 0:
		return errors.New("--wrap and --unwrap change crontabs and services, not manifests")
	case c.Unwrap && (c.Write != "" || c.Apply):
		return errors.New("--unwrap excludes --write and --apply")
	case c.Yes && !changes:
		return errors.New("--yes: requires --wrap or --unwrap")
	case c.Wrap && (c.PingKey == "") != (c.PingBaseURL == ""):
		return errors.New("--ping-base-url and --ping-key must be given together")
	case strings.ContainsFunc(c.PingKey, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'\`, r) }):
		return errors.New("--ping-key: must not contain blanks, quotes or line breaks")
	}
	return c.placeFlags.Validate()
}

// machine returns where jobs are wrapped.
func (c *discoverCmd) machine() (*wrap.Machine, error) {
	m := &wrap.Machine{UID: os.Getuid(), Binary: c.Binary, BaseURL: string(c.PingBaseURL), Key: c.PingKey}
	if c.Root != "" && c.Root != "/" {
		root, err := filepath.Abs(c.Root)
		if err != nil {
			return nil, err
		}
		m.Root = root
	} else {
		m.Crontab = wrap.Crontab
	}
	if m.Binary == "" && c.Wrap {
		var err error
		if m.Binary, err = ownPath(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ownPath returns the path by which this program was called, which an upgrade keeps, or else that of its file.
func ownPath() (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", err
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return file, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return file, nil
	}
	a, errA := os.Stat(called)
	b, errB := os.Stat(file)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return file, nil
	}
	return called, nil
}

// wrap changes the crontabs and units of the jobs that were found.
func (c *discoverCmd) wrap(a *App, d *discovery) error {
	m, err := c.machine()
	if err != nil {
		return err
	}
	var jobs []wrap.Job
	var left []wrap.Left
	leave := func(source, reason, detail string) {
		left = append(left, wrap.Left{Source: source, Reason: reason, Detail: detail})
	}
	for _, job := range d.Jobs {
		one := wrap.Job{Source: job.Source, User: job.User, Slug: job.Slug, Service: job.Service, UserScope: job.OfUser}
		switch {
		case job.Wrap.Mode == discover.DropIn:
			jobs = append(jobs, one)
		case len(job.Places) == 0 && job.Reports != "rollcall":
			leave(job.Source, job.Wrap.Reason, notWrapped(job, job.Wrap.Reason))
		}
		for _, p := range job.Places {
			one.Source = fmt.Sprintf("%s:%d", p.File, p.Line)
			if p.Wrap.Mode != discover.None {
				one.File, one.Line, one.Command = p.File, p.Line, commandAt(d.cron, p)
				jobs = append(jobs, one)
			} else if !p.Wrapped {
				leave(one.Source, p.Wrap.Reason, notWrapped(job, p.Wrap.Reason))
			}
		}
	}
	for _, l := range d.LeftOut {
		if l.Reason == "reboot" {
			leave(l.Source, l.Reason, noWrapTexts[l.Reason])
		}
	}
	plan := m.Wrap(jobs)
	plan.Left = append(plan.Left, left...)
	return c.change(a, plan)
}

// notWrapped says why a job stays as it is.
func notWrapped(job discover.Job, reason string) string {
	if reason == "reports" {
		return "it reports to " + cmp.Or(job.Reports, "a service") + " already"
	}
	return noWrapTexts[reason]
}

// commandAt returns where the command of a line stands, and how the daemon runs it.
func commandAt(cron discover.Cron, p discover.Place) wrap.Command {
	c := wrap.Command{At: p.Wrap.InsertAt, Shell: p.Wrap.Shell}
	switch {
	case p.File == "/etc/anacrontab":
	case cron == discover.Busybox:
		c.End = '#'
	case cron == discover.Debian:
		c.End, c.Max = '%', wrap.MaxDebian
	default:
		c.End, c.Max = '%', wrap.MaxCronie
	}
	return c
}

// changed is what --wrap or --unwrap has done.
type changed struct {
	Changed  []string    `json:"changed"`
	Settings []string    `json:"settings,omitempty"`
	Left     []wrap.Left `json:"left"`
	Backups  string      `json:"backups,omitempty"`
}

// change shows a plan, asks, and applies it.
func (c *discoverCmd) change(a *App, plan wrap.Plan) error {
	doc := changed{Changed: []string{}, Left: append([]wrap.Left{}, plan.Left...)}
	for _, change := range plan.Changes {
		doc.Changed = append(doc.Changed, change.Path)
	}
	for _, s := range plan.Settings {
		doc.Settings = append(doc.Settings, s.Path)
	}
	if !c.JSON {
		if err := c.preview(a.Stdout, plan); err != nil {
			return err
		}
	}
	if len(plan.Changes) == 0 {
		return c.Say(a.Stdout, doc, "Nothing to change.")
	}
	if err := c.agreed(a.Stdout); err != nil {
		return err
	}
	backups, err := plan.Apply(time.Now())
	if err != nil && backups != "" {
		return fmt.Errorf("%w; the texts before are in %s", err, backups)
	} else if err != nil {
		return err
	}
	doc.Backups = backups
	if c.Wrap && !c.Apply {
		a.say("a job without a check cannot report: rollcall discover --apply creates those that are missing")
	}
	return c.Say(a.Stdout, doc, "Changed %s. The texts before are in %s.", prose.Count(len(plan.Changes), "file"), backups)
}

// preview prints the differences, and what stays as it is.
func (c *discoverCmd) preview(w io.Writer, plan wrap.Plan) error {
	var text strings.Builder
	plan.Diff(&text)
	if len(plan.Left) > 0 {
		text.WriteString("Left as they are:\n")
		for _, l := range plan.Left {
			fmt.Fprintf(&text, "  %s: %s\n", l.Source, console.OneLine(cmp.Or(l.Detail, l.Reason)))
		}
	}
	return console.WriteLines(w, text.String())
}

// agreed asks whether to make the changes, unless --yes says so.
func (c *discoverCmd) agreed(w io.Writer) error {
	switch {
	case c.Yes:
		return nil
	case c.JSON || !wrap.Terminal(os.Stdin):
		return console.Usagef("nobody can be asked here, so nothing was changed: add --yes to make these changes")
	}
	fmt.Fprint(w, "Make these changes? [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(os.Stdin, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed")
}
