package email_test

import (
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
)

// A backup report with an encoded subject and an HTML body.
const report = `From: Backup <backup@nas.example.org>
Subject: =?utf-8?q?Auftrag_=E2=80=9EB=C3=BCro=E2=80=9C:_failed?=
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<style>.error { color: red }</style>
<table><tr><td>Volume 1</td><td>ERR=
&#79;R: no space left</td></tr></table>
`

func ExampleParse() {
	message := email.Parse([]byte(report))
	fmt.Println(message.Subject)
	fmt.Println(message.HTML)
	// Output:
	// Auftrag „Büro“: failed
	// Volume 1 ERROR: no space left
}

// A program with its own mail server classifies a message by the keywords of a check, or passes the signal to a
// monitor.
func ExampleMessage_Mail() {
	raw := []byte(strings.ReplaceAll(report, "\n", "\r\n"))
	signal := pings.FromMail("backup@nas.example.org", raw, email.Parse(raw).Mail())

	check := checks.Check{Settings: checks.Settings{SuccessKW: "completed", FailureKW: "ERROR", FilterBody: true}}
	fmt.Println(check.Classify(signal))
	// Output: fail
}
