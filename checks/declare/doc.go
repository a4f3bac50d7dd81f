// Package declare manages projects, channels, checks, status pages and maintenance from a file.
//
// The file is YAML, and may be JSON. Its keys are the fields of the [API] (section 2.1):
//
//	projects:
//	  - name: backups
//	    channels:
//	      - name: ops
//	        kind: email
//	        settings: {to: ops@example.org}
//	    checks:
//	      - slug: nightly
//	        schedule: "0 3 * * *"
//	        tz: Europe/Riga
//	        grace: 30m
//	        channels: [ops]
//	    status_pages:
//	      - slug: backups
//	        title: Our backups
//	        tags: [public]
//	    maintenance:
//	      - name: patches
//	        tags: [db]
//	        schedule: "0 2 * * SUN"
//	        duration: 2h
//	        tz: Europe/Riga
//
// A program that makes its checks from other data needs no file: [Diff] makes the plan from a []checks.Spec.
//
// [Parse] reads a file, [NewPlan] compares it with what exists, and [Plan.Apply] makes the changes:
//
//	doc, err := declare.Parse(data, &declare.Config{Name: "checks.yaml"})
//	target := declare.OnProjects(mon.Projects())
//	plan, err := declare.NewPlan(ctx, target, doc, nil)
//	fmt.Print(plan)                       // the changes, one a line
//	_, err = plan.Apply(ctx, target, nil) // make them
//
// A [Target] is the projects of a monitor in this process or of a server ([OnProjects]), or one project ([OnProject]). [Export] and
// [Document.Write] turn existing projects into a file. Applying an export changes nothing.
//
// # What a file means
//
// A file describes its projects, channels, checks, status pages and maintenance in full: a setting that it leaves out gets its default
// (section 2.1). There are exceptions: a project keeps its account, plan, max_checks, storm_checks and storm_window, and a channel keeps the
// settings that its kind marks as secret.
//
// Names identify projects, channels and maintenance windows, slugs identify checks and status pages. By default nothing is deleted.
// [Options].Prune deletes the checks, channels and status pages of the file's projects that are not in the file. Prune
// never deletes a project, a check whose slug is empty or shared, or a channel whose name is empty or shared. It keeps the
// checks of a project without the key checks; an empty list deletes them all. The same holds for channels,
// status_pages and maintenance.
//
// A status page has a slug that no other project uses, a title, a description or none, and tags: it shows the checks that
// have any of them, or all checks of the project if it has no tags. Anyone can read it without a key.
//
// A maintenance window has a name of up to 100 characters, the slugs of checks and the tags that it covers, or neither for the
// whole project, and either a schedule with a duration and a tz, or a start and an end such as 2026-12-01T22:00:00Z. A window whose
// end is past is ignored, and one that was ended early stays ended. To change one, a plan adds another and ends it. Prune ends
// recurring windows that the file does not have; others end by themselves. Snoozes are no part of files.
//
// An escalation policy is a list of steps: after, a duration or 0 by default, and channels, which are notified that long after an
// alert. An empty list removes the policy, and a file without the key escalation leaves it alone; Prune has no effect on it.
//
// A file with channels, escalation, checks, status_pages or maintenance at its top level, instead of projects, describes one project.
// [Options].Project names it.
//
// A timeout, grace or max_runtime is a whole number of seconds, or a duration such as 90s, 1h30m or 1d. If a check has a
// timeout and a schedule, the schedule counts (section 4.3 rule 2). Tags and channels are strings as in section 2.1, or
// lists. YAML's anchors, aliases and merge keys work; top-level keys that begin with "x-" may hold anchors and are
// otherwise ignored. A check may have the alert rules of [checks.Check]: alert_after is a number of failures,
// repeat_every a duration, and quiet_hours a string in the form of package quiet, or a list of its windows.
// The check follows those of after, a list of slugs or IDs: a plan creates them first, and refuses circles.
//
// # Secrets
//
// The value of a channel's setting is a string, or names its source: {env: NAME} or {file: PATH}. A file can send its
// values anywhere, so [Config].Env and [Config].File limit what it may read; by default it reads nothing.
//
// Channels remember the sources of their settings. Plans and exports show neither a value from a source nor one that the
// kind marks as secret. Plans show no old values of channels. A server shows neither kind of values, so a plan for it does
// not compare them: [Plan].Notes names them, and [Options].ResendSecrets sends them in any case.
//
// # Errors
//
// Nothing changes unless the whole file is valid. [Errors] lists all errors of a file with their lines and columns.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package declare
