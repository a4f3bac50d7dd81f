package checks_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

var pingSuccess = pings.Signal{Kind: pings.Success}

// TestClassify covers the rules of server/API.md section 2.1.1 and of the field methods.
func TestClassify(t *testing.T) {
	body := func(text string) pings.Signal {
		return pings.Signal{Kind: pings.Success, Scheme: "https", Method: "POST", Body: []byte(text)}
	}
	mail := func(subject, text string) pings.Signal {
		return pings.Signal{Kind: pings.Success, Scheme: "email", Mail: &pings.Mail{Subject: subject, Text: text}}
	}
	words := checks.Check{Settings: checks.Settings{StartKW: "begin", SuccessKW: "OK, fine", FailureKW: "error"}}
	with := func(change func(*checks.Check)) checks.Check {
		c := words
		change(&c)
		return c
	}
	http := with(func(c *checks.Check) { c.FilterHTTPBody = true })
	strict := with(func(c *checks.Check) { c.FilterHTTPBody, c.FilterDefaultFail = true, true })
	subject := with(func(c *checks.Check) { c.FilterSubject = true })
	text := with(func(c *checks.Check) { c.FilterBody = true })
	strictMail := with(func(c *checks.Check) { c.FilterBody, c.FilterDefaultFail = true, true })
	strictPost := with(func(c *checks.Check) { c.FilterHTTPBody, c.FilterDefaultFail, c.Methods = true, true, "POST" })
	both := with(func(c *checks.Check) { c.FilterSubject, c.FilterBody = true, true })
	post := checks.Check{Settings: checks.Settings{Methods: "POST"}}
	get := pings.Signal{Kind: pings.Success, Scheme: "http", Method: "GET"}

	for name, test := range map[string]struct {
		c    checks.Check
		s    pings.Signal
		want pings.Kind
	}{
		"no filtering":                            {words, body("error"), pings.Success},
		"start":                                   {http, body("we begin"), pings.Start},
		"success":                                 {http, body("all fine"), pings.Success},
		"failure":                                 {http, body("an error"), pings.Failure},
		"case matters":                            {http, body("ok ERROR"), pings.Ignored},
		"failure before success before start":     {http, body("begin OK error"), pings.Failure},
		"success before start":                    {http, body("begin OK"), pings.Success},
		"no match":                                {http, body("hello"), pings.Ignored},
		"no match, default fail":                  {strict, body("hello"), pings.Failure},
		"empty body":                              {http, get, pings.Ignored},
		"empty body, default fail":                {strict, get, pings.Failure},
		"a failure signal that matches nothing":   {http, pings.Signal{Kind: pings.Failure, Scheme: "http", Method: "GET"}, pings.Ignored},
		"a start signal that matches success":     {http, pings.Signal{Kind: pings.Start, Scheme: "http", Body: []byte("OK")}, pings.Success},
		"within 10,000 bytes":                     {http, body(strings.Repeat("x", 9_995) + "error"), pings.Failure},
		"across 10,000 bytes":                     {http, body(strings.Repeat("x", 9_996) + "error"), pings.Ignored},
		"what is looked at is more than is kept":  {http, pings.Signal{Scheme: "http", Body: []byte("x"), Filtered: []byte("x error")}, pings.Failure},
		"e-mail is not an HTTP body":              {http, mail("error", "error"), pings.Success},
		"an HTTP body is not e-mail":              {both, body("error"), pings.Success},
		"in process":                              {strict, pings.Signal{Kind: pings.Log}, pings.Log},
		"subject":                                 {subject, mail("error", "OK"), pings.Failure},
		"subject only":                            {subject, mail("hello", "error"), pings.Ignored},
		"body":                                    {text, mail("error", "OK"), pings.Success},
		"subject or body":                         {both, mail("hello", "OK"), pings.Success},
		"failure in the body, success in subject": {both, mail("OK", "error"), pings.Failure},
		"not across subject and body":             {both, mail("er", "ror"), pings.Ignored},
		"e-mail, no match, default fail":          {strictMail, mail("OK", "hello"), pings.Failure},
		"e-mail beside strict HTTP":               {strict, mail("", ""), pings.Success},
		"post by get, default fail":               {strictPost, get, pings.Ignored},
		"post by get":                             {post, get, pings.Ignored},
		"post by head":                            {post, pings.Signal{Kind: pings.Failure, Scheme: "https", Method: "HEAD"}, pings.Ignored},
		"post by post":                            {post, body(""), pings.Success},
		"post by e-mail":                          {post, mail("", ""), pings.Success},
		"post in process":                         {post, pingSuccess, pings.Success},
	} {
		t.Run(name, func(t *testing.T) {
			signal, err := test.s.Normalized()
			if got := test.c.Classify(signal); err != nil || got != test.want {
				t.Errorf("%q, want %q; error %v", got, test.want, err)
			}
		})
	}
}
