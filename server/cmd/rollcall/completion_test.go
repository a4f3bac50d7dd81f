package main

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// need returns the path of a program. If it is missing, the test is skipped, or fails with ROLLCALL_TEST_REQUIRE=all.
func need(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	text := "there is no " + name + " to test with (apt-get install " + pkg + ")"
	if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

func TestCompletions(t *testing.T) {
	root := model(t).Node
	for line, want := range map[string]string{
		"s":                                 "schedule serve snooze",
		"gen":                               "", // hidden
		"project ":                          "create delete list set",
		"--database sqlite:x.db project cr": "create",
		"--database=sqlite:x.db key rev":    "revoke",
		"project create --pl":               "--plan",
		"project create --data":             "--database",
		"project create --plan ":            "free paid",
		"project create backups --plan=f":   "--plan=free",
		"serve --listen 127.0.0.1:80 --log-level i": "info",
		"serve --no-dashboard --no-l":               "--no-legacy-api",
		"serve --no-dashboard=t":                    "", // a switch
		"serve --spool ":                            ":directory",
		"channel create --name ops --kind ntf":      "ntfy",
		"ping st":                                   "start",
		"ping --slug start f":                       "fail flush",
		"ping start ":                               "",
		"completion ":                               "bash fish zsh",
		"import ":                                   "healthchecks",
		"deliveries ":                               "list retry",
		"deliveries --stat":                         "--state",
		"deliveries list --state f":                 "failed",
		"apply -f ":                                 ":file",
		"apply --dry-run --file=":                   ":file",
		"apply --fi":                                "--file",
		"apply -f":                                  "-f",
		"apply -- -":                                "",
		"project list ":                             "",
		"run -q --slug backup -- ":                  ":command 6",
		"run --slug backup rollca":                  ":command 4",
		"run -- rollcall project cr":                ":command 3",
		"nonsense --data":                           "--database",
		"check show ":                               "default/check-a default/check-b",
		"check show --project jobs ":                "jobs/check-a jobs/check-b",
		"check set x --project=jobs --channels o":   "",
		"check set x --channels default/channel-a,": "default/channel-a,default/channel-b",
		"check set x --channels=":                   "--channels=default/channel-a --channels=default/channel-b",
		"check create x --timeout 1d --after ":      "default/check-a default/check-b",
		"channel test ":                             "default/channel-a default/channel-b",
		"check list --project ":                     "default/project-a default/project-b",
		"schedule x --tz Europe/Rig":                "Europe/Riga",
		"check snooze x --tz Asia/Tok":              "Asia/Tokyo",
	} {
		words := strings.Split(line, " ")
		var got []string
		for _, line := range completions(root, words, twoNames) {
			word, _, _ := strings.Cut(line, "\t")
			if strings.HasPrefix(word, words[len(words)-1]) || strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		if got := sortedWords(got); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if list := completions(root, []string{""}, noNames); !slices.ContainsFunc(list, func(line string) bool { return strings.HasPrefix(line, "serve\tRun the service") }) {
		t.Errorf("no descriptions: %q", list)
	}
}

// completionCase is a line with the words that a shell may put where the last one is.
type completionCase struct{ line, want string }

// completionCases have one of each kind of completion, and what is special to a shell. All shells complete them, in a
// directory with the files of [completionDir].
var completionCases = []completionCase{
	{"rollcall s", "schedule serve snooze"},
	{"rollcall --database 'postgres://u@[::1]:5432/x' key rev", "revoke"},
	{"rollcall project create --pl", "--plan"},
	{"rollcall project create backups --plan=f", "--plan=free"},
	{"rollcall serve --listen=:80 --log-level=i", "--log-level=info"},
	{"rollcall backup mon", "monday.db"},
	{"rollcall backup tues", "tuesday's_$db.db"},
	{"rollcall apply --dry-run --file=che", "--file=checks.yaml"},
	{"rollcall serve --spool spo", "spool"},
	{"rollcall serve --spool=spo", "--spool=spool"},
	{"rollcall project list che", "che"}, // takes no argument
	{"rollcall run -q --slug backup -- rollca", "rollcall"},
	{"rollcall run -- cat che", "checks.yaml"},
	{"rollcall schedule x --tz Europe/Rig", "Europe/Riga"},
}

// completionDir returns a directory with files to complete and a program rollcall, which completes, or prints its arguments.
func completionDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"checks.yaml", "monday.db", "tuesday's_$db.db", "spoolfile"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "spool"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	completer, err := exec.LookPath("rollcall") // this test binary
	if err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\n[ \"$1\" = __complete ] && exec \"" + completer + "\" \"$@\"\nprintf '<<'\nprintf '%s|' \"$@\"\nprintf '>>\\n'\n"
	if err := os.WriteFile(filepath.Join(dir, "bin", "rollcall"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// completionEnv is the environment of a shell in a directory of [completionDir].
func completionEnv(dir string) []string {
	return []string{"HOME=" + dir, "ZDOTDIR=" + dir, "TERM=dumb", "LC_ALL=C.UTF-8", "PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}
}

// script writes the completion script of a shell to a file.
func script(t *testing.T, shell, path string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if status := run([]string{"completion", shell}, &stdout, &stderr); status != console.ExitOK {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	if err := os.WriteFile(path, []byte(stdout.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sortedWords returns words in their order, without the slash at the end of directories.
func sortedWords(words []string) string {
	sorted := slices.Clone(words)
	for i := range sorted {
		sorted[i] = strings.TrimSuffix(sorted[i], "/")
	}
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}

func TestCompletionFish(t *testing.T) {
	fish := need(t, "fish", "fish")
	dir := completionDir(t)
	cmd := exec.CommandContext(t.Context(), fish, "--no-config", "-c", "source $argv[1]\nfor line in $argv[2..-1]\ncomplete -C $line\necho ---\nend", script(t, "fish", filepath.Join(dir, "rollcall.fish")))
	for _, c := range completionCases {
		cmd.Args = append(cmd.Args, c.line)
	}
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, completionEnv(dir), &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatal(err, stderr.String())
	}
	answers := strings.Split(string(out), "---\n")
	for i, c := range completionCases {
		var words []string
		for line := range strings.Lines(answers[i]) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			words = append(words, word)
		}
		if len(words) == 0 {
			words = append(words, c.line[strings.LastIndex(c.line, " ")+1:])
		}
		if got := sortedWords(words); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
	if want := "serve\tRun the service"; !strings.Contains(answers[0], want) {
		t.Errorf("no descriptions: %s", answers[0])
	}
}

// twoNames stands for a database with two things of each sort in each project.
func twoNames(what string, typed map[string]string) []string {
	project := cmp.Or(typed["project"], "default")
	return []string{project + "/" + what + "-a\tA", project + "/" + what + "-b\tB"}
}

// noNames stands for a machine without a database.
func noNames(string, map[string]string) []string { return nil }
