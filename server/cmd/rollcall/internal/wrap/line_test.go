package wrap

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var form = Form{Binary: "/usr/bin/rollcall", Settings: "/etc/rollcall/ping.env", Slug: "alder-backup"}

// TestRestores holds that any line becomes again what it was, if it can be wrapped at all.
func TestRestores(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"'", `\`, `\'`, `'\''`, "%", `\%`, `\\`, " ", "\t", "/bin/sh -c '", "-c", `"$@" `, "&", "|", ";", "#", "é", "\xff", "/opt/x/run", "--;", "x",
		"[ -x /a ] && set -- /a run ", `[ -x /a ] && set -- /a run --slug b --; "$@" `})
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), ""))
		if rapid.Bool().Draw(t, "any bytes") {
			line = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		c := Command{At: rapid.IntRange(0, len(line)).Draw(t, "at"), Shell: rapid.SampledFrom([]string{"", "/bin/sh", "/usr/bin/zsh"}).Draw(t, "shell"),
			End: rapid.SampledFrom([]byte{0, '%', '#'}).Draw(t, "end")}
		wrapped, err := form.Wrap(line, c)
		if err != nil {
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok || refusal.Reason == "syntax" && !bytes.ContainsAny(line, "\x00\n") {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		if !bytes.HasPrefix(wrapped, line[:c.At]) {
			t.Errorf("what stands before the command has changed: %q", wrapped)
		}
		if again, slug, ok := Unwrap(wrapped); !ok || !bytes.Equal(again, line) || slug != form.Slug {
			t.Errorf("%q became %q, then %q", line, wrapped, again)
		}
		if _, err := form.Wrap(wrapped, c); err == nil {
			t.Errorf("wrapped twice: %q", wrapped)
		}
	})
}

// TestWrapForm holds the text of a wrapped line.
func TestWrapForm(t *testing.T) {
	const head = `[ -x /usr/bin/rollcall ] && set -- /usr/bin/rollcall run --settings /etc/rollcall/ping.env --slug alder-backup --; "$@" `
	for _, c := range []struct{ line, shell, want string }{
		{"0 3 * * * /opt/backup --all", "", "0 3 * * * " + head + "/opt/backup --all"},
		{"0 3 * * * /opt/backup%in%put", "", "0 3 * * * " + head + "/opt/backup%in%put"},
		{"0 3 * * * cd /x && it's", "/bin/sh", "0 3 * * * " + head + `/bin/sh -c 'cd /x && it'\''s'`},
		{`0 3 * * * a|b \%d%in'put`, "/bin/bash", "0 3 * * * " + head + `/bin/bash -c 'a|b \%d'%in'put`},
		{`0 3 * * * a|b\\%in`, "/bin/sh", "0 3 * * * " + head + `/bin/sh -c 'a|b\\'%in`},
		{"0 3 * * * /bin/sh -c 'x'", "", "0 3 * * * " + head + " /bin/sh -c 'x'"},
	} {
		got, err := form.Wrap([]byte(c.line), Command{At: 10, Shell: c.shell, End: '%'})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\n%s", c.line, err, got, c.want)
		}
	}
	if got, _ := form.Wrap([]byte("a|b%c"), Command{Shell: "/bin/sh"}); !strings.HasSuffix(string(got), "-c 'a|b%c'") {
		t.Errorf("nothing ends it: %s", got)
	}
	if got, _ := form.Wrap([]byte(`a \#%b 'c' # d`), Command{Shell: "/bin/sh", End: '#'}); !strings.HasSuffix(string(got), `-c 'a \'#%b 'c' # d`) {
		t.Errorf("BusyBox's crond reads up to any #: %s", got)
	}
}

// TestUnwrapKeepsEdits takes away the text of the wrapper alone.
func TestUnwrapKeepsEdits(t *testing.T) {
	const head = `[ -x /old/rollcall ] && set -- /old/rollcall run --success-codes 0,1 --settings /s --slug b --; "$@" `
	for _, c := range []struct{ line, want string }{
		{"5 4 * * 1-5 " + head + "/opt/backup --all --more", "5 4 * * 1-5 /opt/backup --all --more"},
		{"#0 3 * * * " + head + "/bin/sh -c 'a && b'", "#0 3 * * * a && b"},
		{"0 3 * * * " + head + "/bin/sh -c 'a && b' >>/var/log/b", "0 3 * * * /bin/sh -c 'a && b' >>/var/log/b"},
		{"0 3 * * * " + head + "/bin/sh -c 'a && b", "0 3 * * * /bin/sh -c 'a && b"},
		{"0 3 * * * FOO=1 " + head + "/opt/x", "0 3 * * * FOO=1 /opt/x"},
	} {
		if got, slug, ok := Unwrap([]byte(c.line)); !ok || string(got) != c.want || slug != "b" {
			t.Errorf("%s\n%s\n%s", c.line, got, c.want)
		}
	}
	for _, line := range []string{"0 3 * * * /opt/x", "", `[ -x /a ] && set -- /b run --; "$@" x`, "0 3 * * * /usr/bin/rollcall run --slug x -- y"} {
		if got, _, ok := Unwrap([]byte(line)); ok || string(got) != line {
			t.Errorf("%s became %s", line, got)
		}
	}
}

// TestWrapRefuses names the reason.
func TestWrapRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxDebian)
	for _, c := range []struct {
		line   string
		form   Form
		reason string
	}{
		{"0 3 * * * /opt/x\r", form, "carriage-return"},
		{"0 3 * * * /opt/x\x00", form, "syntax"},
		{"0 3 * * * " + long, form, "too-long"},
		{"0 3 * * * /opt/x", Form{"/opt/my programs/rollcall", "/s", "a"}, "binary"},
		{"0 3 * * * /opt/x", Form{"rollcall", "/s", "a"}, "binary"},
		{"0 3 * * * /opt/x", Form{"/r", "/home/50%/s", "a"}, "settings"},
		{"0 3 * * * /opt/x", Form{"/r", "/s", "a b"}, "slug"},
		{"0 3 * * * /opt/x", Form{"/r", "/s", "--quiet"}, "slug"},
	} {
		_, err := c.form.Wrap([]byte(c.line), Command{At: 10, Max: MaxDebian})
		if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Reason != c.reason {
			t.Errorf("%.30q: %v, want %s", c.line, err, c.reason)
		}
	}
	head, _ := form.Wrap(nil, Command{})
	fits := strings.Repeat("x", MaxDebian-len(head))
	if _, err := form.Wrap([]byte(fits), Command{Max: MaxDebian}); err != nil {
		t.Error(err)
	}
}
