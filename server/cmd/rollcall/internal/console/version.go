package console

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// BuildInfo returns what the Go command has stamped into the binary, or the zero value.
func BuildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

// Version returns the version of the binary with its commit, its Go version and its platform, as far as they are known.
func Version(info *debug.BuildInfo) string {
	var notes []string
	add := func(format string, value string) {
		if value != "" {
			notes = append(notes, fmt.Sprintf(format, value))
		}
	}
	revision := setting(info, "vcs.revision")
	add("commit %s", revision[:min(len(revision), 12)])
	if committed := CommitTime(info); !committed.IsZero() {
		add("%s", committed.Format(time.DateOnly))
	}
	if setting(info, "vcs.modified") == "true" {
		add("%s", "modified")
	}
	add("%s", info.GoVersion)
	if system := setting(info, "GOOS"); system != "" {
		add("%s", system+"/"+setting(info, "GOARCH"))
	}
	text := VersionNumber(info)
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// VersionNumber returns the version of the module alone, such as v0.1.0.
func VersionNumber(info *debug.BuildInfo) string {
	if info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}

// CommitTime returns the time of the commit in UTC, or the zero time if it is unknown.
func CommitTime(info *debug.BuildInfo) time.Time {
	committed, err := time.Parse(time.RFC3339, setting(info, "vcs.time"))
	if err != nil {
		return time.Time{}
	}
	return committed.UTC()
}

// setting returns a setting of the build, or "" if it is unknown.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
