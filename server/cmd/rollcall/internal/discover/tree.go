package discover

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Bounds of what is read.
const (
	maxFile    = 4 << 20 // bytes of a file; a longer one is left out
	maxEntries = 10_000  // of a directory
	maxLinks   = 40      // symbolic links in a row
)

var (
	errTooLarge   = errors.New("too large")
	errNotRegular = errors.New("not a regular file")
	errBroken     = errors.New("broken link")
	errLoop       = errors.New("too many symbolic links")
)

// tree reads files by their absolute paths. It follows symbolic links within its root, so a link never leads out of it.
type tree struct{ fsys fs.FS }

// entry is a file that a path leads to.
type entry struct {
	path   string // without links
	info   fs.FileInfo
	link   fs.FileInfo // of the path itself if it is a symbolic link, else nil
	target string      // of that link
}

// find follows a path.
func (t tree) find(name string) (e entry, err error) {
	rest := strings.Split(strings.Trim(path.Clean("/"+name), "/"), "/")
	done, links := "", 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = path.Dir("/" + done)[1:]
			continue
		}
		at := path.Join(done, part)
		info, err := fs.Lstat(t.fsys, at)
		if err != nil {
			if e.link != nil && errors.Is(err, fs.ErrNotExist) {
				return e, errBroken
			}
			return e, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = at
			continue
		}
		target, err := fs.ReadLink(t.fsys, at)
		if err != nil {
			return e, err
		}
		if len(rest) == 0 && e.link == nil {
			e.link, e.target = info, target
		}
		if path.IsAbs(target) {
			done = ""
		}
		rest = append(strings.Split(target, "/"), rest...)
		if links++; links > maxLinks || len(rest) > maxEntries {
			return e, errLoop
		}
	}
	e.path = "/" + done
	e.info, err = fs.Lstat(t.fsys, cmp.Or(done, "."))
	return e, err
}

// open reads a regular file that find has found.
func (t tree) open(e entry) ([]byte, error) { return t.openUpTo(e, maxFile) }

func (t tree) openUpTo(e entry, most int64) ([]byte, error) {
	if !e.info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	if e.info.Size() > most {
		return nil, errTooLarge
	}
	f, err := t.fsys.Open(e.path[1:])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = errTooLarge
	}
	return data, err
}

// read returns the content of a file.
func (t tree) read(name string) ([]byte, error) { return t.readUpTo(name, maxFile) }

func (t tree) readUpTo(name string, most int64) ([]byte, error) {
	e, err := t.find(name)
	if err != nil {
		return nil, err
	}
	return t.openUpTo(e, most)
}

// text returns the content of a file, or "" if it cannot be read.
func (t tree) text(name string) string {
	data, err := t.read(name)
	if err != nil {
		return ""
	}
	return string(data)
}

// exists reports whether a path leads to something.
func (t tree) exists(name string) bool {
	_, err := t.find(name)
	return err == nil
}

// names returns the names in a directory, sorted. One that does not exist has none.
func (t tree) names(dir string) ([]string, error) {
	e, err := t.find(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errBroken) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.info.IsDir() {
		return nil, nil
	}
	name := strings.TrimPrefix(e.path, "/")
	if name == "" {
		name = "."
	}
	list, err := fs.ReadDir(t.fsys, name)
	if len(list) > maxEntries {
		return nil, fmt.Errorf("more than %d entries", maxEntries)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names, err
}

// reason says why something cannot be read, without the path.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}
