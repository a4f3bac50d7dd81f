// Package declare keeps the checks of a project the way a file says they should be.
//
// The file is YAML, of which JSON is a part. Its keys are the fields of API-V3.md section 2.1:
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
// [Parse] reads it, [NewPlan] compares it with what is there, and [Plan.Apply] makes the difference:
//
//	doc, err := declare.Parse(data, &declare.Config{Name: "checks.yaml"})
//	target := declare.OnMonitor(mon)
//	plan, err := declare.NewPlan(ctx, target, doc, nil)
//	fmt.Print(plan)                      // what would be done
//	_, err = plan.Apply(ctx, target, nil) // do it
//
// A [Target] is a monitor in this process, by [OnMonitor], or a server, by package client/target. [Export] and
// [Document.Write] go the other way: applying what they have written changes nothing.
//
// # What the file says
//
// A project, a channel and a check are what the file says, in full: a setting that the file leaves out has its default
// (section 2.1), whatever it was before. There are two exceptions. The plan, account and max_checks of a project, and
// the secret settings of a channel, stay as they are where the file leaves them out.
//
// A project and a channel are known by their name, and a check by its slug, which is required here. What is there
// besides is left alone, unless [Options].Prune is set: then the checks and channels of the file's projects that the
// file does not have are deleted. A project is never deleted, and neither is a check without a slug of its own, or a
// channel without a name of its own, which no file can have. A project without the key checks, or channels, says
// nothing about them; an empty list says that there are none.
//
// A file with checks or channels at its top level, instead of projects, is about one project, which is named by
// whoever applies the file.
//
// timeout and grace are whole seconds, or durations such as 90s, 30m or 24h. Where both timeout and schedule are given,
// the schedule counts (section 4.3 rule 2). tags and channels are texts as in section 2.1, or lists. Anchors, aliases
// and merge keys can be used; keys at the top level that begin with "x-" are there to hold anchors, and are ignored.
//
// A check may have the rules for its alerts, see [checks.Check]: alert_after is a number of failures, repeat_every a
// duration, and quiet_hours a text in the form of package quiet, or a list of its windows.
//
// The settings of a channel are texts, or say where the text is: {env: NAME} or {file: PATH}. A plan shows neither
// such values, nor those of settings that are secret by their kind, nor any that was there before. What is kept of a
// setting is its value alone, so an export has the value of every setting that is not secret by its kind, wherever it
// came from.
//
// # Errors
//
// Nothing is changed unless everything is right. What is wrong with a file is told all at once, as [Errors], each with
// its line and column.
package declare
