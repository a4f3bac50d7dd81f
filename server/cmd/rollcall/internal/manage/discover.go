package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/discover"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/wrap"
)

type discoverCmd struct {
	Paths   []string `arg:"" optional:"" name:"path" completion:"file" help:"Kubernetes manifests to read instead of this machine: files, directories, or - for standard input."`
	Root    string   `placeholder:"DIR" completion:"directory" help:"Read the machine whose files are below this directory, such as a mounted disk."`
	Cron    string   `enum:"auto,debian,cronie,busybox,suse" default:"auto" help:"Whose rules to read crontabs by: auto, debian, cronie, busybox or suse."`
	System  bool     `help:"Include the jobs of packages of the distribution."`
	NoHost  bool     `help:"Leave the host out of slugs, for jobs that any of several machines runs."`
	Write   string   `placeholder:"FILE" completion:"file" help:"Add the checks that are missing to a file for rollcall apply, and keep the rest of it."`
	Apply   bool     `help:"Create the checks that are missing."`
	Project string   `placeholder:"NAME" help:"The project for --write and --apply (default: the only one of the file, or the project default)."`
	wrapFlags
	placeFlags
	console.JSONFlag
}

func (discoverCmd) Help() string {
	return `The command finds the jobs that a machine runs already: in crontabs, /etc/cron.d, /etc/cron.daily and its siblings,
anacrontab, systemd timers, or in Kubernetes CronJobs. It prints the check that would watch each of them and why, and what it
leaves out and why. Without --write, --apply, --wrap and --unwrap it changes nothing.

It reads a crontab as the installed cron does: on Debian, a line with a fault makes cron ignore the whole file. As root it
reads everything; other users read what they may, and the rest is listed as unreadable.

A slug is the name of the host and of the script, the unit or the first program of the command that does work. It stays the same
if the schedule changes. The grace time follows from the shortest time between two runs, plus known delays. Existing checks stay
as they are. With --database, --url or --apply, the output also names checks of this host whose job is gone.

With --json: {"jobs", "left_out"}. Each job has source, user, command, schedule and tz or timeout, slug, slug_from, grace,
grace_why, max_runtime, reports (the service that it pings already), warnings and wrap; seconds are numbers. left_out is an array of
{"source", "reason", "detail"}. With a project to compare with, "gone" lists the slugs of checks without a job, and "changes" and
"notes" are those of apply.

--wrap makes the jobs report: it puts "rollcall run" in front of the commands of crontabs, and drop-ins beside the services of
timers. It shows the difference and asks first, keeps every other byte, and leaves a backup. A wrapped job runs as before if
rollcall or its key is missing or the server is away. The key stands in a file that the job's user can read:
/etc/rollcall/ping.env, /etc/rollcall-jobs/USER.env for a system job of a user who cannot read that, or ~/.config/rollcall/ping.env for
the crontab of a user. --wrap writes it if it is missing and --ping-base-url and --ping-key are given. A job that cannot be wrapped is listed with the reason. --unwrap undoes all of it, also in
lines that were edited since.

Examples:

    rollcall discover
    rollcall discover --wrap
    rollcall discover --write checks.yaml && rollcall apply -f checks.yaml --dry-run
    rollcall discover --apply --url https://rollcall.example.org --api-key rcw_…
    rollcall discover --root /mnt/old-server --no-host
    kubectl get cronjobs -A -o json | rollcall discover -`
}

// discovery is what a run of the command has found and done.
type discovery struct {
	discover.Found
	Gone    []string         `json:"gone,omitempty"`
	Changes []declare.Change `json:"changes,omitempty"`
	Notes   []string         `json:"notes,omitempty"`

	host, from string // of the machine, and what was read
	cron       discover.Cron
	plan       string
	wrote      string
}

func (c *discoverCmd) Run(ctx context.Context, a *App) error {
	if c.Unwrap {
		m, err := c.machine()
		if err != nil {
			return err
		}
		return c.change(a, m.Unwrap())
	}
	d, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	if c.Write != "" {
		if d.wrote, err = c.write(d); err != nil {
			return a.listErrors(err)
		}
	}
	if c.Apply || c.URL != "" || a.Database != defaultDatabase {
		if err := c.in(ctx, a, false, func(at place) error { return c.compare(ctx, at, d) }); err != nil {
			return a.listErrors(err)
		}
	}
	if c.Wrap {
		return c.wrap(a, d)
	}
	return c.Print(a.Stdout, d, func(w io.Writer) { c.show(w, d) })
}

// defaultDatabase is the default of --database. A project in it is compared with only if somebody names it.
const defaultDatabase = "sqlite:rollcall.db"

// find reads the manifests, or the machine.
func (c *discoverCmd) find(ctx context.Context, a *App) (*discovery, error) {
	if len(c.Paths) > 0 {
		if c.Root != "" {
			return nil, console.Usagef("--root is for the files of a machine: leave it out to read manifests")
		}
		found, err := manifests(c.Paths)
		return &discovery{Found: found, from: strings.Join(c.Paths, ", ")}, err
	}
	if runtime.GOOS != "linux" && c.Root == "" {
		return nil, console.Usagef("discover knows the cron daemons of Linux only: give --root DIR with the files of such a machine, or manifests")
	}
	root, err := discover.OpenRoot(cmp.Or(c.Root, "/"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	m := discover.Machine{FS: root, System: c.System, Now: time.Now(), Owner: discover.FileOwner}
	if here := c.Root == "" || c.Root == "/"; here {
		m.Timers, m.Packaged = shownTimers(ctx), rpmPackaged(ctx)
		if me, err := user.Current(); err == nil && os.Geteuid() > 0 {
			m.Own = discover.OwnCrontab{User: me.Username, Text: wrap.OwnCrontab(ctx)}
		}
		m.Host, _ = os.Hostname()
	} else {
		m.Host = m.Hostname()
		if info, err := root.Lstat("."); err == nil {
			if uid, ok := discover.FileOwner(info); ok && uid != 0 {
				m.Owner = nil // a copy that belongs to somebody says nothing about owners
			}
		}
	}
	host := m.Host
	if c.NoHost {
		m.Host = ""
	} else if host == "" {
		a.say("the machine has no name, so slugs have no host; two machines must not share a slug")
	}
	from := "cron: " + c.Cron
	if m.Cron = discover.Cron(c.Cron); c.Cron == "auto" {
		kind, installed := m.FindCron()
		from = "cron: " + string(kind)
		if m.Cron = kind; !installed {
			from = "no cron found, read by the rules of Debian's"
		}
	}
	return &discovery{Found: m.Read(), host: host, cron: m.Cron, from: from + ", time zone " + m.Zone()}, nil
}

// showTime bounds the programs that are asked about this machine.
const showTime = 10 * time.Second

// ask returns the output of a program of this machine, or "" if it fails.
func ask(ctx context.Context, name string, args ...string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), "LC_ALL=C", "CRONTAB_NOHEADER=N") // Debian's crontab -l leaves out first lines otherwise
	out, err := command.Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// shownTimers returns what systemd says about its timers, if it runs.
func shownTimers(ctx context.Context) string {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return ""
	}
	return ask(ctx, "systemctl", "show", "--no-pager",
		"--property=Id,ActiveState,TimersCalendar,TimersMonotonic,RandomizedDelayUSec,RandomizedOffsetUSec,AccuracyUSec", "*.timer")
}

// rpmPackaged asks rpm which files belong to packages, where it is the package manager.
func rpmPackaged(ctx context.Context) func([]string) map[string]bool {
	if _, err := os.Stat("/var/lib/rpm"); err != nil {
		return nil
	}
	return func(paths []string) map[string]bool {
		owned := make(map[string]bool)
		for _, path := range paths {
			owned[path] = ask(ctx, "rpm", "-qf", "--", path) != ""
		}
		return owned
	}
}

// maxManifests bounds the files of manifests in a directory.
const maxManifests = 10_000

// manifests reads files, directories and standard input.
func manifests(paths []string) (discover.Found, error) {
	var files []discover.Manifest
	for _, path := range paths {
		list := []string{path}
		if info, err := os.Stat(path); path != "-" && err != nil {
			return discover.Found{}, err
		} else if path != "-" && info.IsDir() {
			if list, err = manifestFiles(path); err != nil {
				return discover.Found{}, err
			}
		}
		for _, name := range list {
			data, err := readManifest(name)
			files = append(files, discover.Manifest{Name: name, Data: data, Err: err})
		}
	}
	return discover.Kubernetes(time.Now(), files...), nil
}

// manifestFiles returns the files of manifests below a directory.
func manifestFiles(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			if list = append(list, path); len(list) > maxManifests {
				return fmt.Errorf("%s has more than %d manifests", dir, maxManifests)
			}
		}
		return err
	})
	return list, err
}

// readManifest reads a file, or standard input.
func readManifest(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, discover.MaxManifest+1))
	}
	return console.ReadStart(name, discover.MaxManifest+1, fileWait, func() (*os.File, error) { return os.Open(name) })
}

// specs returns the checks of the jobs.
func (d *discovery) specs() (list []checks.Spec) {
	seen := make(map[string]bool)
	for _, job := range d.Jobs {
		if seen[job.Slug] { // somebody has copied a wrapped line
			continue
		}
		seen[job.Slug] = true
		spec := checks.Spec{Slug: new(job.Slug), Grace: new(period(job.Grace))}
		if job.Timeout > 0 {
			spec.Timeout = new(period(job.Timeout))
		} else {
			spec.Schedule, spec.TZ = new(job.Schedule), new(job.TZ)
		}
		if job.MaxRuntime > 0 {
			spec.MaxRuntime = new(period(job.MaxRuntime))
		}
		list = append(list, spec)
	}
	return list
}

// period returns seconds within the bounds of a check.
func period(seconds int64) time.Duration {
	return min(max(time.Duration(seconds)*time.Second, checks.MinPeriod), checks.MaxPeriod)
}

// compare finds checks whose job is gone, and creates those that are missing with --apply.
func (c *discoverCmd) compare(ctx context.Context, at place, d *discovery) error {
	target := at.target()
	name := c.Project
	if at.named() {
		name = cmp.Or(name, DefaultProject)
	}
	state, err := target.Read(ctx, name)
	if err != nil && !(c.Apply && errors.Is(err, checks.ErrNotFound)) {
		return console.Missing(err, "project %q", name)
	}
	have := make(map[string]checks.Check)
	for _, check := range state.Checks {
		have[check.Slug] = check
	}
	var missing []checks.Spec
	for _, spec := range d.specs() {
		check, ok := have[*spec.Slug]
		if !ok {
			missing = append(missing, spec)
		} else if note := differs(check, spec); note != "" {
			d.Notes = append(d.Notes, note)
		}
	}
	d.lost(have, c.NoHost)
	if !c.Apply {
		return nil
	}
	plan, err := declare.Diff(ctx, target, missing, &declare.Options{Project: name})
	if err != nil {
		return err
	}
	if d.plan = plan.String(); d.plan == "" {
		d.plan = "No changes.\n"
	}
	d.Changes, d.Notes = plan.Changes, append(d.Notes, plan.Notes...)
	_, err = plan.Apply(ctx, target, nil)
	return err
}

// differs says how a check differs from when its job runs, or "".
func differs(check checks.Check, spec checks.Spec) string {
	was, now := "every "+prose.Period(check.Timeout), ""
	if check.IsCron() {
		was = check.Schedule + " " + check.TZ
	}
	if spec.Schedule != nil {
		now = *spec.Schedule + " " + *spec.TZ
	} else {
		now = "every " + prose.Period(*spec.Timeout)
	}
	if was == now {
		return ""
	}
	return fmt.Sprintf("the check %s expects %s, and its job runs %s; existing checks are not changed", check.Slug, oneLine(was), oneLine(now))
}

// oneLine joins the lines of a schedule.
func oneLine(expr string) string { return strings.ReplaceAll(expr, "\n", "; ") }

// lost lists the checks of this host whose job is gone.
func (d *discovery) lost(have map[string]checks.Check, noHost bool) {
	prefix := discover.HostSlug(d.host) + "-"
	if noHost || prefix == "-" {
		return
	}
	for _, job := range d.Jobs {
		delete(have, job.Slug)
	}
	for slug := range have {
		if strings.HasPrefix(slug, prefix) {
			d.Gone = append(d.Gone, slug)
		}
	}
	slices.Sort(d.Gone)
}
