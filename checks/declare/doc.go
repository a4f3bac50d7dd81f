// Package declare keeps projects, channels and checks the way a file describes them.
//
// The file is YAML, and may be JSON. Its keys are the fields of API-V3.md section 2.1:
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
//
// [Parse] reads a file, [NewPlan] compares it with what exists, and [Plan.Apply] makes the changes:
//
//	doc, err := declare.Parse(data, &declare.Config{Name: "checks.yaml"})
//	target := declare.OnMonitor(mon)
//	plan, err := declare.NewPlan(ctx, target, doc, nil)
//	fmt.Print(plan)                       // the changes, one a line
//	_, err = plan.Apply(ctx, target, nil) // make them
//
// A [Target] is a monitor in this process, by [OnMonitor], or a server, by package client/target. [Export] and
// [Document.Write] go the other way. Applying an export changes nothing.
//
// # What a file means
//
// A file describes its projects, channels and checks in full: a setting that it leaves out gets its default (section
// 2.1). There are two exceptions. A project keeps its account, plan and max_checks, and a channel keeps the settings
// that are secret by its kind.
//
// Names identify projects and channels, and slugs identify checks. Whatever the file does not mention stays, unless
// [Options].Prune is set: then the file's projects lose the checks and channels that the file does not have. Prune never
// deletes a project, a check whose slug is empty or shared, or a channel whose name is empty or shared. A project without
// the key checks keeps its checks; an empty list deletes them. The same holds for channels.
//
// A file with channels or checks at its top level, instead of projects, describes one project. Whoever applies the file
// names it.
//
// A timeout, grace or max_runtime is a whole number of seconds, or a duration such as 90s, 30m or 24h. If a check has a
// timeout and a schedule, the schedule counts (section 4.3 rule 2). Tags and channels are texts as in section 2.1, or
// lists. YAML's anchors, aliases and merge keys work; a key at the top level that begins with "x-" may hold anchors and
// means nothing else. A check may have the alert rules of [checks.Check]: alert_after is a number of failures, repeat_every a duration,
// and quiet_hours a text in the form of package quiet, or a list of its windows.
//
// # Secrets
//
// The setting of a channel is a text, or the place of the text: {env: NAME} or {file: PATH}. Whoever writes a file decides
// where its settings are sent, so [Config].Env and [Config].File decide what it may read; by default it reads nothing.
//
// Channels remember where their settings came from. Neither a plan nor an export shows such a value, nor one that is
// secret by its kind, and a plan shows no value that a channel had before.
//
// # Errors
//
// Nothing changes unless the whole file is right. [Errors] lists everything that is wrong with a file, each error with
// its line and column.
package declare
