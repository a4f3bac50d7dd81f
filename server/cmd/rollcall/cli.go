package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
		List   channelListCmd   `cmd:"" help:"List the integrations of a project, without their settings."`
		Delete channelDeleteCmd `cmd:"" help:"Delete an integration and remove it from all checks."`
		Test   channelTestCmd   `cmd:"" help:"Send a test alert to an integration."`
		Kinds  channelKindsCmd  `cmd:"" help:"List the kinds of integrations and their settings."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage integrations, which receive alerts: e-mail addresses, webhooks, chats and others."`

	Check struct {
		List     checkListCmd     `cmd:"" help:"List the checks of a project with their status and alert rules."`
		Show     checkShowCmd     `cmd:"" help:"Explain the status of a check: since when, why, who was notified and what comes next."`
		Rehearse checkRehearseCmd `cmd:"" help:"Say who would be notified, and when, if a check missed its next run."`
		Move     checkMoveCmd     `cmd:"" help:"Move a check to another project, with its log and flips."`
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
	stdout, stderr io.Writer
}

// usageError is the error of a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run parses the command line, runs the command and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	for i, arg := range args {
		if !utf8.ValidString(arg) { // kong would replace invalid bytes
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
		return fail(stderr, err) // a secret's file cannot be read; the command line is fine
	}
	if err != nil {
		status := fail(stderr, usageError{err})
		fmt.Fprintf(stderr, "Run \"%s --help\" for help.\n", commandPath(err))
		return status
	}
	command.BindTo(commandActor(context.Background()), (*context.Context)(nil))
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
		kong.Description("Rollcall is a dead man's switch for scheduled jobs: a job sends a ping, and Rollcall alerts you when a ping is overdue."),
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

// commandPath returns the full name of the command with the wrong command line.
func commandPath(err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			return node.FullPath()
		}
	}
	return "rollcall"
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
