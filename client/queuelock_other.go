//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package client

import (
	"errors"
	"os"
	"runtime"
)

func tryLock(*os.File) error { return errors.New("a queue is not supported on " + runtime.GOOS) }
