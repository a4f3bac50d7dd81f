//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package manage

import (
	"errors"
	"os"
)

func tryLock(*os.File, bool) error { return errors.ErrUnsupported }
