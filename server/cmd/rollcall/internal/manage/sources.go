package manage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// sourceFlags allow a file to read more by {env: NAME} and {file: PATH}. The file's author can send the values anywhere.
type sourceFlags struct {
	AllowFiles []string `completion:"directory" placeholder:"DIR" help:"Let {file: PATH} also read files below this directory, and not only below the directory of the file. Repeatable."`
	AllowEnv   []string `placeholder:"NAME" help:"Let {env: NAME} also read this variable, and not only those that begin with ROLLCALL_; all allows every variable. Repeatable."`
}

// env returns the function that reads variables for a file. Secrets names the variables of Rollcall's own keys.
func (f *sourceFlags) env(secrets []string) func(name string) (string, error) {
	return func(name string) (string, error) {
		named := slices.Contains(f.AllowEnv, "all") || slices.Contains(f.AllowEnv, name)
		if own := slices.Contains(secrets, strings.ToUpper(name)); !named && (own || !strings.HasPrefix(name, console.EnvPrefix)) {
			reason := "does not begin with " + console.EnvPrefix
			if own {
				reason = "holds a key of Rollcall itself"
			}
			return "", fmt.Errorf("%s; --allow-env %s lets this file read it", reason, name)
		}
		value := os.Getenv(name)
		if value == "" {
			return "", errors.New("is not set")
		}
		return value, nil
	}
}

// file returns the function that reads files for a file in dir. For standard input, dir is "" and paths are relative to
// the working directory.
func (f *sourceFlags) file(dir string) func(path string) (string, error) {
	allowed := f.AllowFiles
	if dir != "" {
		allowed = append([]string{dir}, allowed...)
	}
	return func(path string) (string, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		for _, dir := range allowed {
			base, err := filepath.Abs(dir)
			if err != nil {
				return "", err
			}
			if inside, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(inside) {
				return readInside(base, inside)
			}
		}
		return "", errors.New("it is outside the allowed directories; --allow-files DIR adds one")
	}
}

// readInside reads a secret from a file below dir. It refuses symbolic links out of dir.
func readInside(dir, path string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	secret, err := console.ReadSecretInside(root, path)
	return secret, installation.Reason(err)
}
