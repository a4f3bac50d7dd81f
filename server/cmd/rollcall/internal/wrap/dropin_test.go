package wrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDropIn holds the text of a drop-in, and lets systemd check it.
func TestDropIn(t *testing.T) {
	f := form
	f.Binary = "/bin/true" // systemd looks whether it exists
	text, err := f.DropIn()
	const want = `# Written by rollcall discover --wrap. rollcall discover --unwrap deletes this file.
[Service]
ExecStartPre=-/bin/true ping start --from-systemd --timeout 2s --settings /etc/rollcall/ping.env --slug alder-backup
ExecStopPost=-/bin/true ping --from-systemd --settings /etc/rollcall/ping.env --slug alder-backup
`
	if err != nil || string(text) != want {
		t.Fatalf("%v\n%s", err, text)
	}
	analyze, dir := need(t, "systemd-analyze", "systemd"), t.TempDir()
	service := filepath.Join(dir, "backup.service")
	if err := os.Mkdir(service+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{service: "[Service]\nType=oneshot\nExecStart=/bin/true\n", filepath.Join(service+".d", DropInName): want} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(analyze, "verify", service).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	f.Binary = "/opt/my rollcall"
	if _, err := f.DropIn(); err == nil {
		t.Error("a path with a blank")
	}
}
