package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1 // what was asked for could not be done
	exitUsage = 2 // the command line is wrong, whatever the state of the database
)

// cli is the command line.
type cli struct {
	Database string           `secret:"" default:"sqlite:rollcall.db" placeholder:"URL" help:"The database: sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME."`
	Version  kong.VersionFlag `env:"-" help:"Print the version and exit."`

	Serve   serveCmd   `cmd:"" group:"Service:" help:"Run the service: the API, the ping endpoints and the watcher of deadlines."`
	Migrate migrateCmd `cmd:"" group:"Service:" help:"Bring the database's schema up to date, and stop."`

	Backup backupCmd `cmd:"" group:"Service:" help:"Copy an SQLite database into a file, also while the service runs."`

	Run  runCmd  `cmd:"" group:"Jobs:" help:"Run a command and report its start, its end and its output."`
	Ping pingCmd `cmd:"" group:"Jobs:" help:"Send a ping: success, start, fail, log or an exit status."`

	Project struct {
		Create projectCreateCmd `cmd:"" help:"Create a project and print its keys, this once."`
		List   projectListCmd   `cmd:"" help:"List the projects."`
		Delete projectDeleteCmd `cmd:"" help:"Delete a project with its checks, keys and channels."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage projects."`

	Key struct {
		Create keyCreateCmd `cmd:"" help:"Create an API key and print it, this once."`
		List   keyListCmd   `cmd:"" help:"List the API keys of a project, without their texts."`
		Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage API keys."`

	Channel struct {
		Create channelCreateCmd `cmd:"" help:"Create a channel: a place to which alerts go."`
		List   channelListCmd   `cmd:"" help:"List the channels of a project, without their settings."`
		Delete channelDeleteCmd `cmd:"" help:"Delete a channel and take it from all checks."`
		Test   channelTestCmd   `cmd:"" help:"Send a test alert to a channel, now."`
		Kinds  channelKindsCmd  `cmd:"" help:"List the kinds of channels with the settings of each."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage channels (integrations)."`

	Check struct {
		List checkListCmd `cmd:"" help:"List the checks of a project with the rules for their alerts."`
		Set  checkSetCmd  `cmd:"" help:"Set the rules for the alerts of a check: how many failures, reminders, quiet hours."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Look at checks and set the rules for their alerts."`

	Deliveries struct {
		List  deliveriesListCmd  `cmd:"" default:"withargs" help:"List the alerts of a project and what has become of them."`
		Retry deliveriesRetryCmd `cmd:"" help:"Send failed alerts again."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Look at the delivery of alerts."`

	Apply  applyCmd  `cmd:"" group:"Configuration in files:" help:"Make projects, channels and checks what a file says."`
	Export exportCmd `cmd:"" group:"Configuration in files:" help:"Print projects, channels and checks as a file for apply."`
	Import struct {
		Healthchecks importHealthchecksCmd `cmd:"" help:"Take over the checks of a Healthchecks server, with their UUIDs."`
	} `cmd:"" group:"Configuration in files:" help:"Take over checks from elsewhere."`

	Schedule   scheduleCmd   `cmd:"" group:"Tools:" help:"Explain a cron or OnCalendar expression and print its next times."`
	EmailCheck emailCheckCmd `cmd:"" group:"Tools:" help:"Send a message to the address of a check and show what has come of it."`
}

// app is what a command has to work with.
type app struct {
	database       string   // as given
	secrets        []string // the variables of Rollcall's own keys
	stdout, stderr io.Writer
}

// usageError says that the command line is wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run parses the command line, runs the command and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	for i, arg := range args {
		if !utf8.ValidString(arg) { // kong would replace what is not valid
			return fail(stderr, usagef("argument %d is not valid UTF-8", i+1))
		}
	}
	if err := cleanVariables(); err != nil {
		return fail(stderr, err)
	}
	var c cli
	helpTo, helpStatus := stdout, exitOK
	if len(args) == 0 {
		args, helpTo, helpStatus = []string{"--help"}, stderr, exitUsage
	}
	parser, err := kong.New(&c, options(helpTo, stderr, helpStatus)...)
	if err != nil {
		return fail(stderr, err)
	}
	command, err := parser.Parse(args)
	if _, file := errors.AsType[*fs.PathError](err); file {
		return fail(stderr, err) // that of a secret
	}
	if err != nil {
		status := fail(stderr, usageError{err})
		fmt.Fprintf(stderr, "Run \"%s --help\" for help.\n", commandPath(err))
		return status
	}
	command.BindTo(context.Background(), (*context.Context)(nil))
	if err := command.Run(&app{database: c.Database, secrets: secretVariables(parser.Model.Node), stdout: stdout, stderr: stderr}); err != nil {
		if status, ok := errors.AsType[exitStatus](err); ok {
			return int(status)
		}
		return fail(stderr, err)
	}
	return exitOK
}

func options(stdout, stderr io.Writer, helpStatus int) []kong.Option {
	return []kong.Option{
		kong.Name("rollcall"),
		kong.Description("Rollcall is a dead man's switch for scheduled jobs: a job reports in by a ping, and when a ping is overdue, Rollcall says so."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { os.Exit(helpStatus) }),
		kong.DefaultEnvars(strings.TrimSuffix(envPrefix, "_")),
		kong.Resolvers(secretFiles()),
		kong.Vars{"version": "rollcall " + version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 110}),
		kong.ValueFormatter(describeValue),
	}
}

// describeValue is the text of a flag in --help: what it is for, its default and its environment variables.
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

// commandPath returns how the command is called whose command line is wrong.
func commandPath(err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			return node.FullPath()
		}
	}
	return "rollcall"
}

// fail prints an error in one line and returns the exit status for it.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "rollcall: %s\n", oneLine(err.Error()))
	if isUsage(err) {
		return exitUsage
	}
	return exitError
}

// isUsage reports whether an error is the fault of the command line alone. A value that no database would take is.
func isUsage(err error) bool {
	if _, ok := errors.AsType[usageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*checks.FieldError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*channels.KindError](err); ok {
		return true
	}
	_, ok := errors.AsType[*channels.SettingError](err)
	return ok
}

// version returns the version that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return fmt.Sprintf("%s (%s)", info.Main.Version, info.GoVersion)
}
