package installation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// TestPackaged finds the database of an installed service by its settings.
func TestPackaged(t *testing.T) {
	const settings, dropIn, database = "etc/rollcall/rollcall.env", "etc/systemd/system/rollcall.service.d/x.conf", "var/lib/rollcall/rollcall.db"
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("postgres://u:pw@db/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
		err   string
	}{
		"none":            {nil, "", ""},
		"defaults":        {map[string]string{settings: "#ROLLCALL_DATABASE=x\n", database: ""}, installation.PackagedDatabase, ""},
		"not started":     {map[string]string{settings: ""}, "", "has no database yet, sqlite:/var/lib/rollcall/rollcall.db: start it"},
		"elsewhere":       {map[string]string{settings: "ROLLCALL_DATABASE='sqlite:/srv/x y.db'\n", "srv/x y.db": ""}, "sqlite:/srv/x y.db", ""},
		"relative":        {map[string]string{settings: "ROLLCALL_DATABASE=sqlite:x.db\n", "var/lib/rollcall/x.db": ""}, "sqlite:/var/lib/rollcall/x.db", ""},
		"PostgreSQL":      {map[string]string{settings: "ROLLCALL_DATABASE=\"postgres://u:p=w@db/x\"\n"}, "postgres://u:p=w@db/x", ""},
		"a secret's file": {map[string]string{settings: "ROLLCALL_DATABASE=\nROLLCALL_DATABASE_FILE=" + secret + "\n"}, "postgres://u:pw@db/x", ""},
		"a drop-in":       {map[string]string{settings: "", database: "", dropIn: "Environment=ROLLCALL_DATABASE=\n"}, "", "has its database from /" + dropIn + ": give the same one with --database"},
		"another drop-in": {map[string]string{settings: "", database: "", dropIn: "PrivateUsers=no\n"}, installation.PackagedDatabase, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range test.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := installation.Packaged(root, "rollcall", "check", "list")
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q, %v, want %q, %s", got, err, test.want, test.err)
			}
		})
	}
}
