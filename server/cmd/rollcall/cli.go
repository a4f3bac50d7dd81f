package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1 // the command failed
	exitUsage = 2 // the command line is wrong
)

// cli is the command line.
type cli struct {
	Database string           `secret:"" default:"sqlite:rollcall.db" placeholder:"URL" help:"The database: sqlite:PATH, or postgres://USER:PASSWORD@HOST/NAME for PostgreSQL 15 or later."`
	Version  kong.VersionFlag `env:"-" help:"Print the version and exit."`

	Serve   serveCmd   `cmd:"" group:"Service:" help:"Run the service: the API, the ping endpoints, the watcher of deadlines and the sender of alerts."`
	Migrate migrateCmd `cmd:"" group:"Service:" help:"Bring the database schema up to date, and exit."`
	Backup  backupCmd  `cmd:"" group:"Service:" help:"Back up an SQLite database to a file, also while the service runs."`

	Run  runCmd  `cmd:"" group:"Jobs:" help:"Run a command and report its start, its end and its output."`
	Ping pingCmd `cmd:"" group:"Jobs:" help:"Send a ping: success, start, fail, log or an exit status."`

	Project struct {
		Create projectCreateCmd `cmd:"" help:"Create a project and print its keys, which cannot be shown again."`
		List   projectListCmd   `cmd:"" help:"List the projects."`
		Delete projectDeleteCmd `cmd:"" help:"Delete a project with its checks, keys and integrations."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage projects."`

	Key struct {
		Create keyCreateCmd `cmd:"" help:"Create an API key and print it. It cannot be shown again."`
		List   keyListCmd   `cmd:"" help:"List the API keys of a project by id and first characters."`
		Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`

		RotatePing keyRotatePingCmd `cmd:"" help:"Replace the ping key of a project and print the new one."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage API keys."`

	User struct {
		Create        userCreateCmd        `cmd:"" help:"Create a user and print a one-time link that lets the person choose a password."`
		List          userListCmd          `cmd:"" help:"List the users with their roles and last visits."`
		Role          userRoleCmd          `cmd:"" help:"Give a user a role in a project, take it away, or make the user an administrator."`
		Delete        userDeleteCmd        `cmd:"" help:"Delete a user."`
		ResetPassword userResetPasswordCmd `cmd:"" help:"Print a one-time link for another password, and end all sessions."`
		ResetMFA      userResetMFACmd      `cmd:"" name:"reset-mfa" help:"Remove the authenticator app, the recovery codes and the passkeys of a user."`
		EndSessions   userEndSessionsCmd   `cmd:"" help:"Sign a user out everywhere."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage the people who sign in to the dashboard."`

	Channel struct {
		Create channelCreateCmd `cmd:"" help:"Create an integration, which receives alerts."`
		Assign channelAssignCmd `cmd:"" help:"Let the checks of a project alert an integration."`
		List   channelListCmd   `cmd:"" help:"List the integrations of a project, without their settings."`
		Delete channelDeleteCmd `cmd:"" help:"Delete an integration and remove it from all checks."`
		Test   channelTestCmd   `cmd:"" help:"Send a test alert to an integration."`
		Kinds  channelKindsCmd  `cmd:"" help:"List the kinds of integrations and their settings."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage integrations, which receive alerts: e-mail addresses, webhooks, chats and others."`

	Check struct {
		List     checkListCmd     `cmd:"" help:"List the checks of a project with their status and alert rules."`
		Show     checkShowCmd     `cmd:"" help:"Explain the status of a check: since when, why, who was notified and what comes next."`
		Rehearse checkRehearseCmd `cmd:"" help:"Say who would be notified, and when, if a check missed its next run."`
		Pings    checkPingsCmd    `cmd:"" help:"List the pings of a check, newest first."`
		Move     checkMoveCmd     `cmd:"" help:"Move a check to another project, with its log and flips."`
		Pause    checkPauseCmd    `cmd:"" help:"Pause a check: it is not watched until it is resumed or its next ping arrives."`
		Resume   checkResumeCmd   `cmd:"" help:"Resume a paused check, which is new until its next ping."`
		Set      checkSetCmd      `cmd:"" help:"Set the alert rules of a check: failures in a row, reminders and quiet hours."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"List and explain checks and set their alert rules."`

	Deliveries struct {
		List  deliveriesListCmd  `cmd:"" default:"withargs" help:"List the alerts of a project with the state of their delivery."`
		Retry deliveriesRetryCmd `cmd:"" help:"Send failed alerts again."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"List alerts and send failed ones again."`

	Report reportCmd `cmd:"" group:"Administration, also while the service runs:" help:"Print the runs, the downtime and the availability of the checks of a project in a month."`

	Audit auditCmd `cmd:"" group:"Administration, also while the service runs:" help:"Print who changed what: people, API keys and commands."`

	Apply  applyCmd  `cmd:"" group:"Configuration in files:" help:"Create, update and delete projects, integrations and checks to match a file."`
	Export exportCmd `cmd:"" group:"Configuration in files:" help:"Print projects, integrations and checks as a file for apply."`
	Import struct {
		Healthchecks importHealthchecksCmd `cmd:"" help:"Copy the checks of a Healthchecks project, with their UUIDs."`
	} `cmd:"" group:"Configuration in files:" help:"Copy checks from another service."`

	Probe      probeCmd      `cmd:"" group:"Tools:" help:"Check whether a server is ready to accept pings, or only whether it is running."`
	Schedule   scheduleCmd   `cmd:"" group:"Tools:" help:"Explain a cron or OnCalendar expression and print its next times."`
	EmailCheck emailCheckCmd `cmd:"" group:"Tools:" help:"Send an e-mail ping to a check and show the result."`
	Completion completionCmd `cmd:"" group:"Tools:" help:"Print the completion script of a shell."`
	Generate   generateCmd   `cmd:"" hidden:"" help:"Write the man pages, the completion scripts and the settings of serve to a directory."`
}

// app is the environment of a command.
type app struct {
	database       string   // the value of --database
	secrets        []string // names of the environment variables that hold Rollcall's own keys
	environ        []string // the environment as the process got it
	notes          []string // what is wrong with the environment
	servers        servers  // those of the database, once a command has opened it
	stdout, stderr io.Writer
}

// usageError is the error of a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run parses the command line, runs the command and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	a := &app{environ: os.Environ(), stdout: stdout, stderr: stderr}
	line := commandLine{args: args, helpTo: stdout, stderr: stderr}
	if len(args) == 0 {
		line = commandLine{args: []string{"--help"}, helpTo: stderr, helpStatus: exitUsage, stderr: stderr}
	}
	c, command, err := line.parse()
	if err != nil && isRun(command) {
		c, command, a.notes, err = line.parseAnyhow()
	}
	if err != nil {
		return line.fail(command, err)
	}
	command.BindTo(commandActor(context.Background()), (*context.Context)(nil))
	a.database = c.Database
	var known []string
	known, a.secrets = variables(command.Model.Node)
	if command.Selected().Name != "apply" { // its files may read variables of any name
		a.notes = append(a.notes, unknownVariables(known, a.environ)...)
	}
	if !isRun(command) && command.Selected().Name != "serve" { // these two say it in their own way
		a.printNotes()
	}
	return a.end(command, command.Run(a))
}

// printNotes prints what is wrong with the environment, on one line.
func (a *app) printNotes() {
	if len(a.notes) > 0 {
		fail(a.stderr, errors.New(strings.Join(a.notes, "; ")))
	}
}

// end prints the error of a command and returns the exit status.
func (a *app) end(command *kong.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	named := nameVariable(command, err)
	if isUsage(err) {
		named = usageError{named}
	}
	return fail(a.stderr, named)
}

// commandLine is a command line to parse.
type commandLine struct {
	args           []string
	helpTo, stderr io.Writer
	helpStatus     int
}

// parse parses the command line and the variables of the environment. With an error, the command is the one that was
// recognized, or nil.
func (l commandLine) parse() (*cli, *kong.Context, error) {
	unsetEmpty()
	c := &cli{}
	parser, err := kong.New(c, options(l.helpTo, l.stderr, l.helpStatus)...)
	if err != nil {
		return nil, nil, err
	}
	command, err := parser.Parse(l.args)
	if failed, ok := errors.AsType[*kong.ParseError](err); ok {
		return nil, failed.Context, err
	}
	own := len(l.args) - len(c.Run.Command) // what follows belongs to the command that rollcall run runs
	if i := slices.IndexFunc(l.args[:own], func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 {
		return nil, command, usagef("argument %d is not valid UTF-8", i+1) // kong has replaced invalid bytes
	}
	c.Run.Command = l.args[own:]
	return c, command, validVariables()
}

// fail prints an error of parse and returns the exit status.
func (l commandLine) fail(command *kong.Context, err error) int {
	_, parsing := errors.AsType[*kong.ParseError](err)
	if _, file := errors.AsType[*fs.PathError](err); file || !parsing {
		return fail(l.stderr, err) // a secret's file cannot be read; the command line is fine
	}
	status := fail(l.stderr, usageError{nameVariable(command, err)})
	path := "rollcall"
	if node := command.Selected(); node != nil {
		path = node.FullPath()
	}
	fmt.Fprintf(l.stderr, "Run \"%s --help\" for help.\n", path)
	return status
}

func options(stdout, stderr io.Writer, helpStatus int) []kong.Option {
	return []kong.Option{
		kong.Name("rollcall"),
		kong.Description("Rollcall is a dead man's switch for scheduled jobs: a job sends a ping, and Rollcall alerts you when a ping is missing."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { os.Exit(helpStatus) }),
		kong.DefaultEnvars(strings.TrimSuffix(envPrefix, "_")),
		kong.Resolvers(secretFiles()),
		kong.Vars{"version": "rollcall " + version(buildInfo())},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 110}),
		kong.ValueFormatter(describeValue),
		kong.PostBuild(func(k *kong.Kong) error {
			k.Model.HelpFlag.Help = "Print the help of the command and exit."
			return nil
		}),
	}
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

// fail prints an error on one line and returns its exit status.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "rollcall: %s\n", oneLine(err.Error()))
	if isUsage(err) {
		return exitUsage
	}
	return exitError
}

// isUsage reports whether the command line is wrong, whatever is in the database.
func isUsage(err error) bool {
	return errors.As(err, new(usageError)) || errors.As(err, new(*checks.FieldError)) ||
		errors.As(err, new(*channels.KindError)) || errors.As(err, new(*channels.SettingError))
}
