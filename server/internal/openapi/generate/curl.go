package main

import "strings"

// command is an example of a request, which the page shows as a shell command.
type command struct {
	Summary     string
	method, url string
	query       []string // name=value, escaped
	keyed       bool     // with the key in the header
	body        string
	isJSON      bool
	ping        bool
}

// widest is the longest command on one line, in characters.
const widest = 76

// Text returns the command as a shell reads it, on several lines if it is long.
func (c command) Text() string {
	program := "curl"
	if c.ping {
		program += " -sSL -m 10 --retry 5" // a ping must not hold up its job
		if c.body != "" {
			program += " --post301 --post302 --post303" // a redirect must not cut the body off
		}
	}
	if c.method != "GET" && !(c.method == "POST" && c.body != "") {
		program += " -X " + c.method
	}
	address := c.url
	if len(c.query) > 0 {
		address = quote(address + "?" + strings.Join(c.query, "&"))
	}
	parts := []string{program + " " + address}
	if c.keyed {
		parts = append(parts, `-H "X-Api-Key: $API_KEY"`)
	}
	switch {
	case c.isJSON && c.body != "":
		parts = append(parts, "-H 'Content-Type: application/json'", "-d "+quote(c.body))
	case c.body != "":
		parts = append(parts, "--data-raw "+quote(c.body))
	}
	if line := strings.Join(parts, " "); len(line) <= widest && !strings.Contains(line, "\n") {
		return line
	}
	return strings.Join(parts, " \\\n  ")
}

// quote makes a text one word of a shell command.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
