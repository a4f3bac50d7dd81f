// Package email delivers alerts as e-mail through an SMTP server: it is the
// [channels.Notifier] of the kind [channels.Email].
//
//	notifier, err := email.New(email.Config{
//		Host: "smtp.example.org", Username: "rollcall", Password: password,
//		From: "Rollcall <rollcall@example.org>",
//	})
//
// # Messages
//
// A message has a text and an HTML part, which say the same: what happened and
// why, when pings are expected, the last ping and the beginning of its body, for
// how long the check was down, and the changes that were not told before. The
// subject tells apart
//
//	DOWN: nightly backup
//	UP: nightly backup
//	Still DOWN (reminder 2): nightly backup
//	Was DOWN: nightly backup
//
// the last of which is about a check that has come up before it could be told
// that it is down. A test has [Test] before that.
//
// The Message-ID is made from the identifier of the alert, so a message that is
// sent again after an error is the same message to mail programs that drop
// duplicates. In-Reply-To and References are made from the incident: all alerts
// about one period of being down are one thread. Auto-Submitted keeps vacation
// notices away.
//
// # Delivery
//
// One message goes to all addresses of a channel. An address that the server
// refuses for good (a reply 5xx to RCPT) does not keep the others from getting
// it: the result is an error that is permanent and names the address. If the
// server refuses an address for now (4xx, as greylisting does), the error is one
// to try again, and then the message goes only to those that did not get it yet;
// that is kept in memory, so after a restart the others get it once more. A
// server that cannot be reached, or refuses the sender or the password, is tried
// again too, because only its administrator can mend that.
//
// The server is the choice of the program's administrator, not of the users. So
// it may be in a private network, and package outbound does not guard it.
package email
