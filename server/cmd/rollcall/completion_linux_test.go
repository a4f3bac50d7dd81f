package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// typist types into an interactive shell.
type typist struct {
	t      *testing.T
	keys   *os.File
	mu     sync.Mutex
	screen bytes.Buffer // since the last Enter
}

// prompted matches the arguments that the program rollcall of [completionDir] printed, before the next prompt.
var prompted = regexp.MustCompile(`(?s)<<(.*)\|>>.*ready> `)

// startShell starts a shell in a terminal and waits for its prompt, "ready> ".
func startShell(t *testing.T, dir string, args ...string) *typist {
	t.Helper()
	keys, line := terminal(t)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, completionEnv(dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &typist{t: t, keys: keys}
	var reader sync.WaitGroup
	reader.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, err := keys.Read(buffer)
			s.mu.Lock()
			s.screen.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return // the last program has closed the terminal
			}
		}
	})
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		line.Close()
		reader.Wait()
	})
	s.await(regexp.MustCompile("ready> "))
	return s
}

// await waits until the screen matches, and returns the match.
func (s *typist) await(pattern *regexp.Regexp) []string {
	s.t.Helper()
	var found []string
	if !eventually(patience, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		found = pattern.FindStringSubmatch(s.screen.String())
		return found != nil
	}) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("the screen shows %q", s.screen.String())
	}
	return found
}

// words types a command line and keys that complete it, and returns the words of the command.
func (s *typist) words(text, keys string) []string {
	s.t.Helper()
	s.mu.Lock()
	s.screen.Reset()
	s.mu.Unlock()
	if _, err := s.keys.WriteString(text + keys + "\r"); err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(s.await(prompted)[1], "|")
}

// checkCompletions types the lines of all cases.
func (s *typist) checkCompletions(cases []completionCase) {
	s.t.Helper()
	for _, c := range cases {
		before := len(strings.Fields(c.line)) - 1
		if !strings.HasSuffix(c.line, " ") {
			before--
		}
		keys := "\t"
		if strings.Contains(c.want, " ") {
			keys = "\x18a" // insert all completions
		}
		words := s.words(c.line, keys)
		if got := sortedWords(words[min(before, len(words)):]); got != c.want {
			s.t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}

// bashSettings are what a shell of a test needs, and nothing that changes completion.
const bashSettings = `
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind '"\C-xa": insert-completions'
unset HISTFILE
PS1='ready> '
`

func TestCompletionBash(t *testing.T) {
	bash := need(t, "bash", "bash")
	dir := completionDir(t)
	rc := filepath.Join(dir, "bashrc")
	settings := "source " + script(t, "bash", filepath.Join(dir, "rollcall.bash")) + bashSettings
	if err := os.WriteFile(rc, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startShell(t, dir, bash, "--noprofile", "--rcfile", rc, "-i")
	s.checkCompletions(completionCases)
}

// TestCompletionBashPackage loads the package bash-completion, which looks up completions by itself.
func TestCompletionBashPackage(t *testing.T) {
	bash := need(t, "bash", "bash")
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		need(t, library, "bash-completion")
	}
	dir := completionDir(t)
	own := filepath.Join(dir, ".local/share/bash-completion/completions")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	script(t, "bash", filepath.Join(own, "rollcall"))
	rc := filepath.Join(dir, "bashrc")
	if err := os.WriteFile(rc, []byte("source "+library+bashSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startShell(t, dir, bash, "--noprofile", "--rcfile", rc, "-i")
	s.checkCompletions(completionCases)
	s.checkCompletions([]completionCase{{"rollcall run -q -- rollcall project cr", "create"}})
}

func TestCompletionZsh(t *testing.T) {
	zsh := need(t, "zsh", "zsh")
	dir := completionDir(t)
	script(t, "zsh", filepath.Join(dir, "_rollcall"))
	settings := `
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit
compinit -u -D
zstyle ':completion:all-matches:*' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
zle -C all-matches complete-word _generic
bindkey '^Xa' all-matches
unset zle_bracketed_paste
PS1='ready> '
`
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startShell(t, dir, zsh, "--no-global-rcs", "-i")
	s.checkCompletions(completionCases)
}
