package installation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// What a package installs, and the user of its service.
const (
	// PackagedDatabase is the database of an installed package, which its systemd unit sets.
	PackagedDatabase = "sqlite:" + packagedHome + "/rollcall.db"

	packagedHome     = "/var/lib/rollcall"
	packagedSettings = "/etc/rollcall/rollcall.env"
	packagedDropIns  = "/etc/systemd/system/rollcall.service.d/*.conf"
	packagedUser     = "rollcall"
)

// Packaged returns the value of --database of the service that is installed on this machine, with its files below root, or "" if there
// is none. The error says why it cannot be read, and names the command that reads it: the one with these words, as the user of the
// service.
func Packaged(root string, words ...string) (string, error) {
	asUser := "as its user: sudo -u " + packagedUser + " " + console.ShellCommand(words...)
	text, err := os.ReadFile(filepath.Join(root, packagedSettings))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && !isDirectory(filepath.Join(root, packagedHome)):
		return "", nil
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("the settings of the service on this machine, %s, name its database and cannot be read: run the command as root, or %s", packagedSettings, asUser)
	case err != nil:
		return "", err
	}
	found, _ := filepath.Glob(filepath.Join(root, packagedDropIns))
	for _, file := range found {
		if setting, err := os.ReadFile(file); err != nil || bytes.Contains(setting, []byte("ROLLCALL_DATABASE")) {
			return "", fmt.Errorf("the service on this machine has its database from %s: give the same one with --database", strings.TrimPrefix(file, root))
		}
	}
	database, err := databaseOf(string(text))
	if err != nil {
		return "", err
	}
	path, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		return database, nil
	}
	if !filepath.IsAbs(path) { // to the unit's working directory
		path = filepath.Join(packagedHome, path)
	}
	file, err := os.OpenFile(filepath.Join(root, path), os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the service on this machine has no database yet, sqlite:%s: start it, or give --database", path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("the database of the service on this machine, sqlite:%s, cannot be opened: run the command as root, or %s", path, asUser)
	case err != nil:
		return "", err
	}
	return "sqlite:" + path, file.Close()
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// databaseOf returns the database that a file of settings names.
func databaseOf(settings string) (string, error) {
	database, file := PackagedDatabase, ""
	for line := range strings.Lines(settings) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		switch name {
		case "ROLLCALL_DATABASE":
			database = value
		case "ROLLCALL_DATABASE_FILE":
			file = value
		}
	}
	if database == "" && file != "" {
		return console.ReadSecret(file)
	}
	return database, nil
}
