package discover

import (
	"crypto/md5"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// treeOf makes a file system of lines such as "etc/hostname: alder" and "etc/localtime -> ../usr/share/zoneinfo/UTC".
func treeOf(lines ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, line := range lines {
		if name, target, ok := strings.Cut(line, " -> "); ok {
			files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		name, text, _ := strings.Cut(line, ": ")
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return files
}

func TestZone(t *testing.T) {
	for _, test := range []struct {
		files fstest.MapFS
		want  string
	}{
		{treeOf("etc/localtime -> /usr/share/zoneinfo/Europe/Riga"), "Europe/Riga"},
		{treeOf("etc/localtime -> ../usr/share/zoneinfo/posix/America/Argentina/Salta"), "America/Argentina/Salta"},
		{treeOf("etc/localtime -> /usr/share/zoneinfo/Europe/Riga", "etc/timezone: Asia/Tokyo\n"), "Europe/Riga"},
		{treeOf("etc/localtime -> /usr/share/zoneinfo/Nowhere", "etc/timezone: Asia/Tokyo\n"), "Asia/Tokyo"},
		{treeOf("etc/timezone: Asia/Tokyo\n"), "Asia/Tokyo"},
		{treeOf("etc/localtime: TZif", "usr/share/zoneinfo/Europe/Oslo: x", "usr/share/zoneinfo/Europe/Riga: TZif"), "Europe/Riga"},
		{treeOf("etc/localtime: TZif"), "UTC"},
		{treeOf("etc/localtime -> localtime"), "UTC"},
		{treeOf(), "UTC"},
	} {
		if got := (Machine{FS: test.files}).Zone(); got != test.want {
			t.Errorf("%v: %s, want %s", test.files, got, test.want)
		}
	}
}

func TestFindCron(t *testing.T) {
	for _, test := range []struct {
		files fstest.MapFS
		want  Cron
		found bool
	}{
		{treeOf("var/lib/dpkg/info/cron.list: "), Debian, true},
		{treeOf("var/lib/dpkg/info/cronie.list: ", "usr/sbin/crond: "), Cronie, true},
		{treeOf("usr/sbin/crond: "), Cronie, true},
		{treeOf("usr/sbin/cron: "), Debian, true},
		{treeOf("etc/os-release: ID=opensuse-leap\n", "usr/sbin/cron: "), SUSE, true},
		{treeOf("usr/sbin/crond -> /bin/busybox", "bin/busybox: "), Busybox, true},
		{treeOf("lib/apk/db/installed: C:x\nP:cronie\nV:1\n", "usr/sbin/crond: "), Cronie, true},
		{treeOf(), Debian, false},
	} {
		if got, found := (Machine{FS: test.files}).FindCron(); got != test.want || found != test.found {
			t.Errorf("%v: %s, %v, want %s, %v", test.files, got, found, test.want, test.found)
		}
	}
}

func TestPackages(t *testing.T) {
	line := "0 3 * * * root /opt/x\n"
	files := treeOf(
		"etc/cron.d/mine: "+line, "etc/cron.d/theirs: "+line, "etc/cron.d/changed: "+line, "etc/cron.d/alpine: "+line,
		"var/lib/dpkg/info/tools.list: /.\n/etc/cron.d/theirs\n/etc/cron.d/changed\n",
		fmt.Sprintf("var/lib/dpkg/status: Package: tools\nConffiles:\n /etc/cron.d/theirs %x\n /etc/cron.d/changed 0123\nDescription: x\n", md5.Sum([]byte(line))),
		"lib/apk/db/installed: P:x\nF:etc/cron.d\nR:alpine\n",
	)
	got := make(map[string]string)
	for _, left := range (Machine{FS: files, Cron: Debian, Now: testNow}).Read().LeftOut {
		got[left.Source] = left.Reason
	}
	for source, want := range map[string]string{
		"/etc/cron.d/theirs": "packaged", "/etc/cron.d/alpine": "packaged", "/etc/cron.d/changed": "", "/etc/cron.d/changed:1": "", "/etc/cron.d/mine:1": "duplicate",
	} {
		if got[source] != want {
			t.Errorf("%s: %q, want %q", source, got[source], want)
		}
	}
	found := Machine{FS: files, Cron: Debian, Now: testNow, System: true}.Read()
	if len(found.Jobs) != 1 || len(found.LeftOut) != 3 { // all four are one job
		t.Errorf("with packages: %+v", found)
	}
}

// A user who cannot read the spool sees the crontab that crontab -l prints.
func TestOwnCrontab(t *testing.T) {
	m := Machine{FS: treeOf("etc/passwd: ines:x:1000:100::/home/ines:/bin/sh\n"), Cron: Debian, Now: testNow}
	m.Own = OwnCrontab{User: "ines", Text: "0 3 * * * /opt/x/a\n"}
	found := m.Read()
	if len(found.Jobs) != 1 || found.Jobs[0].Source != "/var/spool/cron/crontabs/ines:1" || found.Jobs[0].User != "ines" {
		t.Errorf("%+v", found)
	}
}

// A line that Rollcall has wrapped keeps its slug, and its command is the one that stood there before.
func TestWrappedLines(t *testing.T) {
	const prefix = `[ -x /usr/bin/rollcall ] && set -- /usr/bin/rollcall run --settings /etc/rollcall/ping.env --slug kept --; "$@" `
	for _, test := range []struct{ line, command, stdin string }{
		{prefix + `/opt/x/a --b`, "/opt/x/a --b", ""},
		{prefix + `/bin/sh -c 'cd /x && echo '\''a  b'\'' \%'`, "cd /x && echo 'a  b' %", ""},
		{prefix + `/bin/sh -c 'mail -s x y'%Hello%you`, "mail -s x y", "Hello\nyou\n"},
		{prefix + `/bin/sh -c 'open`, "/bin/sh -c 'open", ""},
	} {
		files := treeOf("etc/passwd: ines:x:1000:100::/home/ines:/bin/sh\n", "var/spool/cron/crontabs/ines: 0 3 * * * "+test.line+"\n")
		files["var/spool/cron/crontabs/ines"].Mode = 0o600
		found := Machine{FS: files, Cron: Debian, Now: testNow, Host: "alder"}.Read()
		if len(found.Jobs) != 1 {
			t.Fatalf("%s: %+v", test.line, found)
		}
		job := found.Jobs[0]
		if job.Command != test.command || job.Stdin != test.stdin || job.Slug != "kept" || job.SlugFrom != wrappedLine || job.Reports != "rollcall" ||
			job.Wrap.Reason != "reports" || !job.Places[0].Wrapped {
			t.Errorf("%s: %+v", test.line, job)
		}
	}
}

// TestBusybox: BusyBox's crond runs a command in the shell of root, unless the crontab names another, reads up to any #, and joins
// lines that end in a backslash, of which the first alone cannot be wrapped.
func TestBusybox(t *testing.T) {
	read := func(shell, text string) []Job {
		m := Machine{Cron: Busybox, Now: testNow, FS: fstest.MapFS{
			"etc/passwd":                   {Data: []byte("ines:x:1000:1000::/home/ines:/bin/zsh\nroot:x:0:0::/root:" + shell + "\n")},
			"var/spool/cron/crontabs/ines": {Data: []byte(text), Mode: 0o600},
		}}
		return m.Read().Jobs
	}
	const line = "0 3 * * * [[ -e /x ]] && y\n"
	quoted := func(shell string) Wrap { return Wrap{Mode: Shell, InsertAt: 10, Shell: shell} }
	for _, tt := range []struct {
		shell, text string
		want        Wrap
	}{
		{"/bin/bash", line, quoted("/bin/bash")},
		{"/bin/bash", "SHELL=/bin/ash\n" + line, quoted("/bin/ash")},
		{"", line, quoted("/bin/sh")},
		{"/usr/bin/fish", line, Wrap{Mode: None, Reason: "shell"}},
		{"/bin/sh", "0 3 * * * a | b # c | 'd\n", quoted("/bin/sh")},
		{"/bin/sh", "0 3 * * * /opt/x # a | b\n", Wrap{Mode: Plain, InsertAt: 10}},
		{"/bin/sh", "0 3 * * * printf '%s' \\\n\"$(date)\"\n", Wrap{Mode: None, Reason: "continued"}},
	} {
		if got := read(tt.shell, tt.text); len(got) != 1 || got[0].Wrap != tt.want {
			t.Errorf("%s, %q: %+v", tt.shell, tt.text, got)
		}
	}
	for text, want := range map[string]string{"a | b # c": "a | b", `echo "$#"`: `echo "$`, `echo "a # b"`: `echo "a`, "/opt/x": "/opt/x"} {
		got := read("/bin/sh", "0 3 * * * "+text+"\n")
		if warned := len(got) == 1 && slices.Contains(got[0].Warnings, "hash"); len(got) != 1 || got[0].Command != want || warned != strings.Contains(want, `"`) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
