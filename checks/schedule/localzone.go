package schedule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// LocalZone returns the IANA name of [time.Local], the time zone of the machine: that of $TZ, or else that to which /etc/localtime
// leads or that /etc/timezone names. It is UTC where package time uses UTC. The error says that the zone has no name.
func LocalZone() (string, error) {
	name, set := os.LookupEnv("TZ")
	if !set {
		target, err := filepath.EvalSymlinks("/etc/localtime")
		if errors.Is(err, os.ErrNotExist) {
			return "UTC", nil
		}
		if _, name, set = strings.Cut(target, "/zoneinfo/"); err != nil || !set { // a copy of a zone's file
			text, err := os.ReadFile("/etc/timezone")
			if name = strings.TrimSpace(string(text)); err != nil || name == "" {
				return "", errors.New("the name of the local time zone is unknown")
			}
		}
	}
	if name = strings.TrimPrefix(name, ":"); name == "" || name == "Etc/UTC" {
		return "UTC", nil
	}
	if _, err := time.LoadLocation(name); err != nil || filepath.IsAbs(name) {
		return "", fmt.Errorf("TZ is not the name of a time zone: %q", name)
	}
	return name, nil
}
