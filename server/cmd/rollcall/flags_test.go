package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestWrongValuesNameTheirFlag gives each flag of serve that cannot have any text a wrong value, on the command line and in
// the environment. The error names the flag and, if the value comes from there, the variable.
func TestWrongValuesNameTheirFlag(t *testing.T) {
	parser, err := kong.New(newCLI(), options(&bytes.Buffer{}, &bytes.Buffer{}, 0)...)
	if err != nil {
		t.Fatal(err)
	}
	// Other flags that a flag needs.
	needs := map[string][]string{
		"mail-port": {"--mail-host", "mail.example.org", "--mail-from", "a@example.org"},
	}
	tried := 0
	for _, flag := range findCommand(parser.Model.Node, "serve").Flags {
		name := variableOf(flag)
		if name == "" || flag.Target.Type().String() == "string" || flag.Target.Type().String() == "[]string" {
			continue
		}
		tried++
		for _, value := range []string{"x y", "-1", "-1s", "99999999999999999999"} {
			if strings.HasSuffix(value, "s") != (flag.Target.Type().String() == "time.Duration") && value != "x y" {
				continue // it would be the unit that is wrong
			}
			for _, inEnvironment := range []bool{false, true} {
				args := append([]string{"serve"}, needs[flag.Name]...)
				if inEnvironment {
					t.Setenv(name, value)
				} else {
					args = append(args, "--"+flag.Name+"="+value)
				}
				var out strings.Builder
				status := run(args, &out, &out)
				t.Setenv(name, "")
				if text := out.String(); status != console.ExitUsage || !strings.Contains(text, "--"+flag.Name) || inEnvironment && !strings.Contains(text, name) {
					t.Errorf("--%s=%s, in the environment %v: status %d: %s", flag.Name, value, inEnvironment, status, text)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// TestWrongTextsNameTheirFlag does the same for flags whose values have a form, and for flags that need each other.
func TestWrongTextsNameTheirFlag(t *testing.T) {
	mail := []string{"--mail-host", "mail.example.org", "--mail-from", "a@example.org"}
	for _, test := range []struct {
		flag string // the one that is named
		args []string
	}{
		{"listen", []string{"--listen", "8000"}},
		{"smtp-listen", []string{"--smtp-listen", "x"}},
		{"metrics-listen", []string{"--metrics-listen", "127.0.0.1:x"}},
		{"heartbeat-url", []string{"--heartbeat-url", "x"}},
		{"alert-link", []string{"--alert-link", "x"}},
		{"secret-key", []string{"--secret-key", "x"}},
		{"oidc-issuer", []string{"--oidc-issuer", "x", "--oidc-client-id", "y"}},
		{"auth-header", []string{"--auth-header", "a b"}},
		{"s3-endpoint", []string{"--s3-bucket", "b"}},
		{"mail-from", []string{"--mail-host", "mail.example.org", "--mail-from", "x: From"}},
		{"mail-port", append([]string{"--mail-port", "70000"}, mail...)},
		{"mail-password", append([]string{"--mail-username", "x"}, mail...)},
		{"mail-username", append([]string{"--mail-oauth-token-file", "x"}, mail...)},
		{"mail-dkim-key", append([]string{"--mail-dkim-key", "/does/not/exist", "--mail-dkim-selector", "x"}, mail...)},
		{"twilio-account-sid", []string{"--twilio-account-sid", "x"}},
		{"twilio-account-sid", []string{"--twilio-auth-token", "x"}},
	} {
		var out strings.Builder
		if status := run(append([]string{"serve"}, test.args...), &out, &out); status == console.ExitOK || !strings.Contains(out.String(), "--"+test.flag) {
			t.Errorf("%q: status %d: %s, want --%s", test.args, status, out.String(), test.flag)
		}
	}
}

// TestVariablesMeanOneThing compares the flags that share a variable: they say the same, except where each says the same thing for
// its command.
func TestVariablesMeanOneThing(t *testing.T) {
	same := map[string]string{
		"ROLLCALL_API_KEY":       "the key of the server or, with the URL that import requires, of the source",
		"ROLLCALL_BASE_URL":      "the base URL of the server",
		"ROLLCALL_CHECK":         "a check",
		"ROLLCALL_LISTEN":        "where the server listens",
		"ROLLCALL_NUMBER":        "how many lines a list has",
		"ROLLCALL_PING_BASE_URL": "the URL of the ping endpoints",
		"ROLLCALL_PING_KEY":      "the ping key of a project",
		"ROLLCALL_PROJECT":       "a project",
	}
	texts := make(map[string]string)
	var visit func(node *kong.Node)
	visit = func(node *kong.Node) {
		for _, flag := range node.Flags {
			name := variableOf(flag)
			if text, shared := texts[name]; name != "" && shared && text != flag.Help && same[name] == "" {
				t.Errorf("%s is %q and, of %s, %q: give one of the flags env:\"-\"", name, text, node.Path(), flag.Help)
			}
			texts[name] = flag.Help
		}
		for _, child := range node.Children {
			visit(child)
		}
	}
	visit(model(t).Node)
}
