package wrap

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// copyAttributes copies the extended attributes of a file: access control lists, and the label of SELinux, without which cron ignores
// a crontab.
func copyAttributes(to, from *os.File) error {
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(from.Fd()), names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	} else if err != nil {
		return fmt.Errorf("its attributes: %w", err)
	}
	value := make([]byte, 64<<10)
	for name := range bytes.SplitSeq(names[:n], []byte{0}) {
		if len(name) == 0 {
			continue
		}
		size, err := unix.Fgetxattr(int(from.Fd()), string(name), value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), string(name), value[:size], 0)
		}
		if err != nil && !errors.Is(err, unix.ENODATA) {
			return fmt.Errorf("its attribute %s: %w", name, err)
		}
	}
	return nil
}
