package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/manage"
)

// defaultDatabase is the default of --database.
const defaultDatabase = "sqlite:rollcall.db"

// cli is the command line.
type cli struct {
	Database string      `secret:"" default:"sqlite:rollcall.db" placeholder:"URL" help:"The database: sqlite:PATH, or postgres://USER:PASSWORD@HOST/NAME for PostgreSQL 15 or later. Without it, commands use rollcall.db in this directory, or else the database of the service that is installed on this machine."`
	Zoneinfo string      `placeholder:"PATH" completion:"file" help:"Time zone data to use in place of the newest of those in this program and of the system: a directory, or an archive of one."`
	Version  versionFlag `env:"-" help:"Print the version and exit."`

	Serve   serveCmd          `cmd:"" group:"Service:" help:"Run the service: the API, the ping endpoints, the watcher of deadlines and the sender of alerts."`
	Migrate manage.MigrateCmd `cmd:"" group:"Service:" help:"Bring the database schema up to date, and exit."`
	Backup  manage.BackupCmd  `cmd:"" group:"Service:" help:"Back up an SQLite database to a file, also while the service runs."`

	Run  runCmd  `cmd:"" group:"Jobs:" help:"Run a command and report its start, its end and its output."`
	Ping pingCmd `cmd:"" group:"Jobs:" help:"Send a ping: success, start, fail, log or an exit status."`

	manage.Commands

	Probe      probeCmd             `cmd:"" group:"Tools:" help:"Check whether a server is ready to accept pings, or only whether it is running."`
	Schedule   scheduleCmd          `cmd:"" group:"Tools:" help:"Explain a cron or OnCalendar expression and print its next times."`
	EmailCheck manage.EmailCheckCmd `cmd:"" group:"Tools:" help:"Send an e-mail ping to a check and show the result."`
	Completion completionCmd        `cmd:"" group:"Tools:" help:"Print the completion script of a shell."`
	Generate   generateCmd          `cmd:"" hidden:"" help:"Write the man pages, the completion scripts and the settings of serve to a directory."`
}

// newCLI returns the command line with the flags that are made from tables.
func newCLI() *cli {
	c := &cli{}
	c.Commands.Prepare()
	return c
}

// app is the environment of a command.
type app struct {
	database       string   // the value of --database
	secrets        []string // names of the environment variables that hold Rollcall's own keys
	environ        []string // the environment as the process got it
	notes          []string // what is wrong with the environment
	stdout, stderr io.Writer
}

// run parses the command line, runs the command and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	a := &app{environ: os.Environ(), stdout: stdout, stderr: stderr}
	line := commandLine{args: args, helpTo: stdout, stderr: stderr}
	if len(args) == 0 {
		line = commandLine{args: []string{"--help"}, helpTo: stderr, helpStatus: console.ExitUsage, stderr: stderr}
	} else if args[0] == completeCommand {
		return complete(args[1:], stdout, stderr)
	}
	switch line.args[0] { // as other programs have them
	case "help":
		line.args = append(slices.Clone(line.args[1:]), "--help")
	case "version":
		line.args = []string{"--version"}
	}
	c, command, err := line.parse()
	if isRun(command) && (err != nil || c.Run.Settings != "") {
		c, command, a.notes, err = line.parseAnyhow()
	} else if command.Selected() != nil && command.Selected().Name == "ping" && c.Ping.Settings != "" {
		c, command, err = line.parseWith(c.Ping.Settings)
	}
	if err != nil {
		return line.fail(command, err)
	}
	command.BindTo(manage.CommandActor(context.Background()), (*context.Context)(nil))
	if c.Zoneinfo != "" && !isRun(command) {
		if err := schedule.UseZoneinfo(c.Zoneinfo); err != nil {
			return console.Fail(stderr, err)
		}
	}
	a.database = c.Database
	var known []string
	known, a.secrets = variables(command.Model.Node)
	if command.Selected().Name != "apply" { // its files may read variables of any name
		a.notes = append(a.notes, unknownVariables(known, slices.Concat(a.environ, line.settings))...)
	}
	if !isRun(command) && command.Selected().Name != "serve" { // these two say it in their own way
		a.printNotes()
	}
	return a.end(command, command.Run(a, &manage.App{
		Database: a.database, Chosen: gives(command, "database"), Line: args, Secrets: a.secrets, Stdout: stdout, Stderr: stderr,
	}))
}

// gives reports whether the command line or a variable sets a flag.
func gives(command *kong.Context, name string) bool {
	for _, flag := range command.Flags() {
		if flag.Name != name {
			continue
		}
		_, set := os.LookupEnv(variableOf(flag))
		_, file := os.LookupEnv(variableOf(flag) + fileSuffix)
		return set || file || slices.ContainsFunc(command.Path, func(p *kong.Path) bool { return p.Flag == flag })
	}
	return false
}

// printNotes prints what is wrong with the environment, on one line.
func (a *app) printNotes() {
	if len(a.notes) > 0 {
		console.Fail(a.stderr, errors.New(strings.Join(a.notes, "; ")))
	}
}

// end prints the error of a command and returns the exit status.
func (a *app) end(command *kong.Context, err error) int {
	if err == nil {
		return console.ExitOK
	}
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	named := nameVariable(command, err)
	if console.IsUsage(err) {
		named = console.Usage(named)
	}
	return console.Fail(a.stderr, named)
}

// commandLine is a command line to parse.
type commandLine struct {
	args           []string
	settings       []string // NAME=VALUE of the file of --settings
	helpTo, stderr io.Writer
	helpStatus     int
}

// parse parses the command line and the variables of the environment. With an error, the command is the one that was
// recognized, or nil, and only what was read before the error is set.
func (l commandLine) parse() (*cli, *kong.Context, error) {
	unsetEmpty()
	c := newCLI()
	parser, err := kong.New(c, options(l.helpTo, l.stderr, l.helpStatus)...)
	if err != nil {
		return c, nil, err
	}
	command, err := parser.Parse(l.args)
	if failed, ok := errors.AsType[*kong.ParseError](err); ok {
		return c, failed.Context, err
	}
	own := len(l.args) - len(c.Run.Command) // what follows belongs to the command that rollcall run runs
	if i := slices.IndexFunc(l.args[:own], func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 {
		return c, command, console.Usagef("argument %d is not valid UTF-8", i+1) // kong has replaced invalid bytes
	}
	c.Run.Command = l.args[own:]
	return c, command, validVariables()
}

// fail prints an error of parse and returns the exit status.
func (l commandLine) fail(command *kong.Context, err error) int {
	_, parsing := errors.AsType[*kong.ParseError](err)
	if _, file := errors.AsType[*fs.PathError](err); file || !parsing {
		return console.Fail(l.stderr, err) // a secret's file cannot be read; the command line is fine
	}
	status := console.Fail(l.stderr, console.Usage(l.quoting(command, nameVariable(command, err))))
	path := "rollcall"
	if node := command.Selected(); node != nil {
		path = node.FullPath()
	}
	fmt.Fprintf(l.stderr, "Run \"%s --help\" for help.\n", path)
	return status
}

// hyphen matches the error of a name that begins with a hyphen.
var hyphen = regexp.MustCompile(`unknown flag -[^-]`)

// quoting tells those who forgot to quote a schedule: the shell made several words of it, and file names of its stars.
func (l commandLine) quoting(command *kong.Context, err error) error {
	if command == nil || command.Selected() == nil {
		return err
	}
	if hyphen.MatchString(err.Error()) && len(command.Selected().Positional) > 0 {
		return fmt.Errorf("%w; what begins with a hyphen and is no flag stands last, after --", err)
	}
	if !strings.Contains(err.Error(), "unexpected argument") {
		return err
	}
	flag := slices.ContainsFunc(l.args, func(arg string) bool { return arg == "--schedule" || strings.HasPrefix(arg, "--schedule=") })
	switch {
	case command.Selected().Name == "schedule":
		return fmt.Errorf("%w; quote the expression for the shell: rollcall schedule '0 3 * * *'", err)
	case flag:
		return fmt.Errorf("%w; quote the schedule for the shell: --schedule '0 3 * * *'", err)
	}
	return err
}

func options(stdout, stderr io.Writer, helpStatus int) []kong.Option {
	return []kong.Option{
		kong.Name("rollcall"),
		kong.Description("Rollcall is a dead man's switch for scheduled jobs: a job sends a ping, and Rollcall alerts you when a ping is missing."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { os.Exit(helpStatus) }),
		kong.DefaultEnvars(strings.TrimSuffix(console.EnvPrefix, "_")),
		kong.Resolvers(secretFiles()),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(readDuration)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 110}),
		kong.ValueFormatter(describeValue),
		kong.PostBuild(func(k *kong.Kong) error {
			k.Model.HelpFlag.Help = "Print the help of the command and exit."
			return nil
		}),
	}
}

// readDuration reads a duration as everywhere in Rollcall.
func readDuration(from *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := from.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := checks.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q %w", text, err)
	}
	target.SetInt(int64(d))
	return nil
}

// versionFlag prints the version, and that of the time zone data.
type versionFlag bool

// BeforeReset is called by kong before anything else of the command line has an effect.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprintf(k.Stdout, "rollcall %s\ntime zone data %s\n", console.Version(console.BuildInfo()), schedule.Zoneinfo())
	k.Exit(console.ExitOK)
	return nil
}

// describeValue returns the help of a flag: its text, its default and its environment variables.
func describeValue(v *kong.Value) string {
	if v.Flag == nil || len(v.Flag.Envs) == 0 {
		return v.Help
	}
	var notes []string
	if v.HasDefault {
		notes = append(notes, "default "+v.Default)
	}
	name := v.Flag.Envs[0]
	notes = append(notes, "$"+name)
	if isSecret(v.Flag) {
		notes = append(notes, "or a file named by $"+name+fileSuffix)
	}
	return v.Help + " (" + strings.Join(notes, ", ") + ")"
}
