package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// release is one version of Rollcall, for several platforms.
type release struct {
	version  string // of the module, with its v
	commit   string
	date     time.Time
	binaries []binary // ordered by platform
}

// binary is a static program for one platform.
type binary struct {
	path     string
	platform v1.Platform
}

// readRelease reads what Go has recorded in binaries, which must all be of one commit. epoch is the value of
// SOURCE_DATE_EPOCH, in seconds since 1970, or empty.
func readRelease(paths []string, epoch string) (*release, error) {
	var r *release
	for _, path := range paths {
		next, err := readBinary(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if r == nil {
			r = next
			continue
		}
		if r.version != next.version || r.commit != next.commit || !r.date.Equal(next.date) {
			return nil, fmt.Errorf("%s is %s of commit %s, but %s is %s of commit %s",
				paths[0], r.version, r.commit, path, next.version, next.commit)
		}
		r.binaries = append(r.binaries, next.binaries...)
	}
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		r.date = time.Unix(seconds, 0).UTC()
	}
	slices.SortFunc(r.binaries, func(a, b binary) int { return cmp.Compare(a.platform.String(), b.platform.String()) })
	for i := range r.binaries[1:] {
		if r.binaries[i].platform.Equals(r.binaries[i+1].platform) {
			return nil, fmt.Errorf("%s and %s are both for %s", r.binaries[i].path, r.binaries[i+1].path, r.binaries[i].platform)
		}
	}
	return r, nil
}

func readBinary(path string) (*release, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := binary{path: path, platform: v1.Platform{OS: settings["GOOS"], Architecture: settings["GOARCH"]}}
	switch {
	case b.platform.OS != "linux":
		return nil, fmt.Errorf("is for %s; a container needs linux", b.platform.OS)
	case settings["CGO_ENABLED"] != "0":
		return nil, fmt.Errorf("may need a C library, which the image does not have; build it with CGO_ENABLED=0")
	case settings["vcs.revision"] == "":
		return nil, fmt.Errorf("has no commit; build it in a git repository with -buildvcs=true")
	case b.platform.Architecture == "arm":
		number, _, _ := strings.Cut(settings["GOARM"], ",")
		b.platform.Variant = "v" + number
	case b.platform.Architecture == "arm64":
		b.platform.Variant = "v8"
	}
	date, err := time.Parse(time.RFC3339, settings["vcs.time"])
	if err != nil {
		return nil, err
	}
	return &release{version: info.Main.Version, commit: settings["vcs.revision"], date: date, binaries: []binary{b}}, nil
}

// tag returns the version as a tag of the image, which has no v and no plus sign.
func (r *release) tag() string {
	return strings.ReplaceAll(strings.TrimPrefix(r.version, "v"), "+", "-")
}

// fileName returns the platform in the form of Go's names: linux_amd64, linux_armv7.
func (b binary) fileName() string {
	name := b.platform.OS + "_" + b.platform.Architecture
	if b.platform.Architecture == "arm" {
		name += b.platform.Variant
	}
	return name
}
