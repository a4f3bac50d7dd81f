//go:build unix

package wrap

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// parents returns a path and all directories above it, below root, outermost first. It follows links, and so returns both ways.
func parents(root, path string) (list []string, err error) {
	full := filepath.Join(root, path)
	target, err := resolve(root, path)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{full, target} {
		var up []string
		for ; len(p) >= len(root) && p != filepath.Dir(p); p = filepath.Dir(p) {
			up = append(up, p)
		}
		slices.Reverse(up)
		list = append(list, up...)
	}
	return slices.Compact(list), nil
}

// resolve follows the links of a path below root, and refuses those that lead out of it.
func resolve(root, path string) (string, error) {
	target, err := filepath.EvalSymlinks(filepath.Join(root, path))
	if err != nil || root == "" {
		return target, err
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	if target != base && !strings.HasPrefix(target, strings.TrimSuffix(base, "/")+"/") {
		return "", fmt.Errorf("%s leads out of %s", path, root)
	}
	return filepath.Join(root, strings.TrimPrefix(target, base)), nil
}

// owner returns the owner and the group of a file.
func owner(info fs.FileInfo) (uid, gid int) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), int(stat.Gid)
	}
	return -1, -1
}

// trusted returns an error that names what others than root and one user could write on the way to a path, or put in its place.
func (a accounts) trusted(root, path string, uid int) error {
	list, err := parents(root, path)
	if err != nil {
		return err
	}
	for _, p := range list {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		shown := "/" + strings.TrimLeft(strings.TrimPrefix(p, root), "/")
		by, group := owner(info)
		switch mode := info.Mode(); {
		case by != 0 && by != uid:
			return fmt.Errorf("%s belongs to another user", shown)
		case mode&fs.ModeSymlink != 0:
		case mode&0o002 != 0:
			return fmt.Errorf("everybody can write %s", shown)
		case mode&0o020 != 0 && a.others(group, uid):
			return fmt.Errorf("a group can write %s", shown)
		}
	}
	return nil
}

// permits returns an error if a user lacks a permission (4 to read, 1 to execute) on a path, or the way to it.
func (a accounts) permits(root, path string, user account, permission fs.FileMode) error {
	if user.uid == 0 {
		_, err := resolve(root, path)
		return err
	}
	list, err := parents(root, path)
	if err != nil {
		return err
	}
	for _, p := range list {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		need := permission
		if info.IsDir() {
			need = 1
		}
		by, group := owner(info)
		switch {
		case by == user.uid:
			need <<= 6
		case slices.Contains(user.groups, group):
			need <<= 3
		}
		if info.Mode()&need == 0 {
			return fmt.Errorf("%s may not use /%s", user.name, strings.TrimLeft(strings.TrimPrefix(p, root), "/"))
		}
	}
	return nil
}

// tryLock locks a directory until it is closed or the process ends.
func tryLock(dir *os.File) error {
	for {
		switch err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}

// Terminal reports whether a file is a terminal, so that somebody can be asked.
func Terminal(file *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
