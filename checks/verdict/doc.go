// Package verdict says in words how a check is: since when, why, who was notified, and what comes next.
//
//	v := verdict.Explain(verdict.Input{Check: check, Now: now, Transitions: transitions})
//	fmt.Println(v.Text(nil))
//	// Down since 03:20. The run expected at 03:00 Europe/Riga did not report within its grace of 20 min; last success
//	// yesterday 03:04. *ops* and *pager* were told at 03:20:02 and 03:20:03.
//
// A [Verdict] is a list of sentences, and a [Sentence] a list of parts, so that a page can set each part as it likes:
// [Verdict.Words] returns the words of a part. [ForAlert] makes the shorter verdict that an alert carries.
//
// [Rehearse] says what happens if a job does not report any more: when the check goes down, what holds the alert back, and
// who gets it.
//
// The package is pure: the current time is always an argument. Text from users and jobs is on one line, cut and without
// invisible characters, but it may hold any markup: escape it.
package verdict
