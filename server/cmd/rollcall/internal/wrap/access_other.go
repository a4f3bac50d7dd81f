//go:build !unix

package wrap

import (
	"errors"
	"io/fs"
	"os"
)

// errUnix is why nothing can be wrapped here.
var errUnix = errors.New("crontabs and units are wrapped on Unix only")

func resolve(_, _ string) (string, error) { return "", errUnix }

func owner(fs.FileInfo) (uid, gid int) { return -1, -1 }

func (a accounts) trusted(_, _ string, _ int) error { return errUnix }

func (a accounts) permits(_, _ string, _ account, _ fs.FileMode) error { return errUnix }

func tryLock(*os.File) error { return errUnix }

// Terminal reports false.
func Terminal(*os.File) bool { return false }
