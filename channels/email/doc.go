// Package email delivers alerts as e-mail through an SMTP server. It is the kind [channels.Email].
//
//	mail, err := email.New(&email.Config{
//		Host: "smtp.example.org", Username: "rollcall", Password: password,
//		From: "Rollcall <rollcall@example.org>",
//	})
//	mon, err := monitor.New(store, &monitor.Config{Channels: []channels.Type{mail}})
//
// # Messages
//
// A message has a text and an HTML part with the same content: what happened and why, when pings are expected, the last
// ping, how long its run took and the end of its body, the description, how long the check was down, and earlier changes
// that were not reported. The subject is one of
//
//	DOWN: nightly backup
//	UP: nightly backup
//	Still DOWN (reminder 2): nightly backup
//	Was DOWN: nightly backup
//
// The last one is about a check that recovered before the alert could be sent. A test has [Test] before the subject.
//
// The Message-ID is derived from the identifier of the alert, so mail programs that drop duplicates recognize a
// repeated message. In-Reply-To and References are derived from the incident: all alerts about one outage form a thread.
// Auto-Submitted keeps vacation notices away.
//
// # Delivery
//
// Each address gets the message in a separate transaction, all on one connection. The header To names all of them.
//
// If the server refuses an address or its message for good (a 5xx reply), the others still get it; the error is
// permanent and names the address. If it refuses an address for now (4xx, as greylisting does), the delivery is
// retried, and only addresses without the message get it: [channels.Partial] names those that have it.
//
// Config.OAuth logs in with access tokens, as Exchange Online requires. Config.DKIM signs messages, for a mail server that
// does not.
//
// Config.Unsubscribe gives each recipient a link to unsubscribe by one click (RFC 8058). Addresses in the setting
// unsubscribed of a channel get nothing; if that is all of them, the error is permanent.
//
// If the server cannot be reached, or refuses the sender or the password, the delivery is retried too, since an
// administrator can fix that.
//
// The administrator of the program chooses the mail server. It may be in a private network; the address limits of
// package outbound do not apply.
package email
