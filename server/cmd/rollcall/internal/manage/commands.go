// Package manage has the commands that administer an installation.
package manage

// Commands are the commands that administer an installation.
type Commands struct {
	Project struct {
		Create projectCreateCmd `cmd:"" help:"Create a project and print its keys, which cannot be shown again."`
		List   projectListCmd   `cmd:"" help:"List the projects."`
		Set    projectSetCmd    `cmd:"" help:"Change the name of a project, or when its alerts are sent together."`
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
		Create   checkCreateCmd   `cmd:"" help:"Create a check and print its ping URL, to which the job reports."`
		List     checkListCmd     `cmd:"" help:"List the checks of a project: state, schedule, last ping and next one."`
		Show     checkShowCmd     `cmd:"" help:"Show a check: its status and why, who was notified, its ping URL and its settings."`
		Set      checkSetCmd      `cmd:"" help:"Change settings of a check, such as its schedule, its tags and whom it alerts."`
		Delete   checkDeleteCmd   `cmd:"" help:"Delete a check with its log."`
		Rehearse checkRehearseCmd `cmd:"" help:"Say who would be notified, and when, if a check missed its next run."`
		Pings    checkPingsCmd    `cmd:"" help:"List the pings of a check, newest first."`
		Move     checkMoveCmd     `cmd:"" help:"Move a check to another project, with its log and flips."`
		Pause    checkPauseCmd    `cmd:"" help:"Pause a check: it is not watched until it is resumed or its next ping arrives."`
		Resume   checkResumeCmd   `cmd:"" help:"Resume a paused check, which is new until its next ping."`
		Snooze   checkSnoozeCmd   `cmd:"" help:"Keep alerts about a check back for a time."`
		Ack      checkAckCmd      `cmd:"" help:"Acknowledge outages, of a check, of a tag or all, so that their reminders and their escalation stop."`
		Unack    checkUnackCmd    `cmd:"" help:"Give an acknowledged outage back, so that its reminders and its escalation go on."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Create, list, explain, change and delete checks."`

	Maintenance struct {
		Start maintenanceStartCmd          `cmd:"" help:"Start or plan maintenance, during which checks alert nobody that they are down."`
		End   windowEndCmd[ofMaintenance]  `cmd:"" help:"End maintenance now, or cancel it before it starts."`
		List  windowListCmd[ofMaintenance] `cmd:"" help:"List maintenance that is running or planned."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Keep alerts back during planned work."`

	Snooze struct {
		Start snoozeStartCmd          `cmd:"" help:"Keep alerts back for a time, for checks, tags or the whole project."`
		End   windowEndCmd[ofSnooze]  `cmd:"" help:"End snoozes now."`
		List  windowListCmd[ofSnooze] `cmd:"" help:"List the snoozes that are running or planned."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Keep alerts back until a time."`

	Escalation struct {
		Show escalationShowCmd `cmd:"" help:"Print the escalation policy of a project."`
		Set  escalationSetCmd  `cmd:"" help:"Set the escalation policy of a project: whom alerts notify, and after how long without an acknowledgement."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"Manage who is notified when nobody acknowledges an outage."`

	Deliveries struct {
		List  deliveriesListCmd  `cmd:"" default:"withargs" help:"List the alerts of a project with the state of their delivery."`
		Retry deliveriesRetryCmd `cmd:"" help:"Send failed alerts again."`
	} `cmd:"" group:"Administration, also while the service runs:" help:"List alerts and send failed ones again."`

	Report reportCmd `cmd:"" group:"Administration, also while the service runs:" help:"Print the runs, the downtime and the availability of the checks of a project in a month."`

	Audit auditCmd `cmd:"" group:"Administration, also while the service runs:" help:"Print who changed what: people, API keys and commands."`

	Discover discoverCmd `cmd:"" group:"Configuration in files:" help:"Find the jobs that this machine or a Kubernetes cluster runs already, and the checks to watch them."`

	Apply  applyCmd  `cmd:"" group:"Configuration in files:" help:"Create, update and delete projects, integrations and checks to match a file."`
	Export exportCmd `cmd:"" group:"Configuration in files:" help:"Print projects, integrations and checks as a file for apply."`
	Import struct {
		Healthchecks importHealthchecksCmd `cmd:"" help:"Copy the checks of a Healthchecks project, with their UUIDs."`
	} `cmd:"" group:"Configuration in files:" help:"Copy checks from another service."`
}
