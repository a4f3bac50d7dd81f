package discover

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is a directory that holds the files of a machine, "/" for this one. Nothing in it leads out of it, and reading never waits.
type Root struct{ root *os.Root }

// OpenRoot opens the directory of a machine. [Root.Close] closes it.
func OpenRoot(dir string) (Root, error) {
	root, err := os.OpenRoot(dir)
	return Root{root}, err
}

// Close closes the directory.
func (r Root) Close() error { return r.root.Close() }

// Open opens a file, without waiting for the writer of a named pipe.
func (r Root) Open(name string) (fs.File, error) {
	return r.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonBlocking, 0)
}

// Lstat returns what a name is, without following a symbolic link.
func (r Root) Lstat(name string) (fs.FileInfo, error) { return r.root.Lstat(filepath.FromSlash(name)) }

// ReadLink returns the target of a symbolic link.
func (r Root) ReadLink(name string) (string, error) {
	target, err := r.root.Readlink(filepath.FromSlash(name))
	return filepath.ToSlash(target), err
}

// ReadDir returns the entries of a directory by name, one more than are read at most.
func (r Root) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := r.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, err := dir.ReadDir(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}
