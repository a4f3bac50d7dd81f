package installation_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// TestPackagedForOthers names the command to those who may not read the files of the service.
func TestPackagedForOthers(t *testing.T) {
	const nobody = 65534
	for _, closed := range []string{"etc/rollcall", "var/lib/rollcall"} {
		root := t.TempDir()
		for _, dir := range []string{filepath.Dir(root), root} { // so that another user gets there
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"etc/rollcall/rollcall.env", "var/lib/rollcall/rollcall.db"} {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(root, closed), 0); err != nil {
			t.Fatal(err)
		}
		var err error
		done := make(chan struct{})
		go func() { // on a thread that ends with its user
			defer close(done)
			runtime.LockOSThread()
			if os.Getuid() == 0 {
				_ = syscall.Setfsuid(nobody)
			}
			_, err = installation.Packaged(root, "rollcall", "check", "show", "it's")
		}()
		<-done
		if want := `run the command as root, or as its user: sudo -u rollcall rollcall check show 'it'\''s'`; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", closed, err, want)
		}
		if err := os.Chmod(filepath.Join(root, closed), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
