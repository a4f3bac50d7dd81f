package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// generateCmd writes what the packages install beside the binary. It is hidden, because only the build of the packages
// needs it.
type generateCmd struct {
	Dir string `arg:"" help:"The directory. Missing directories are created, existing files replaced."`
}

func (c *generateCmd) Run(command *kong.Context) error {
	model := command.Model
	for shell, name := range completionNames {
		err := c.write(filepath.Join("completions", name), func(w io.Writer) error { return writeCompletion(w, shell) })
		if err != nil {
			return err
		}
	}
	for _, page := range manPages(model, console.BuildInfo()) {
		err := c.write(filepath.Join("man", page.name+".1"), func(w io.Writer) error {
			_, err := io.WriteString(w, page.String())
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.write("rollcall.env", func(w io.Writer) error { return writeSettings(w, model) })
}

// write writes a file below the directory.
func (c *generateCmd) write(name string, content func(io.Writer) error) error {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return err
	}
	path := filepath.Join(c.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
