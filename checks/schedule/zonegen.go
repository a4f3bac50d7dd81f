//go:build ignore

// Zonegen writes zoneinfo.zip and zones.txt from the newest release of the IANA time zone database, which the package tzdata
// of Python's registry has, compiled. It needs python3 with pip. With -check it writes nothing, and fails if the file
// here is of another release.
package main

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const prefix = "tzdata/zoneinfo/"

func main() {
	log.SetFlags(0)
	log.SetPrefix("zonegen: ")
	check := flag.Bool("check", false, "only compare the release of zoneinfo.zip with the newest one")
	flag.Parse()
	if err := run(*check); err != nil {
		log.Fatal(err)
	}
}

func run(check bool) error {
	dir, err := os.MkdirTemp("", "zonegen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pip := exec.Command("python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", dir, "tzdata")
	pip.Stderr = os.Stderr
	if err := pip.Run(); err != nil {
		return fmt.Errorf("cannot download the package tzdata with pip: %w", err)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "tzdata-*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("pip left %d wheels", len(wheels))
	}
	wheel, err := zip.OpenReader(wheels[0])
	if err != nil {
		return err
	}
	defer wheel.Close()
	return write(&wheel.Reader, check)
}

func write(wheel *zip.Reader, check bool) error {
	files := make(map[string][]byte)
	var released time.Time
	for _, f := range wheel.File {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok {
			continue
		}
		data, err := read(f)
		if err != nil {
			return err
		}
		files[name] = data
		if name == "tzdata.zi" {
			released = f.Modified.UTC()
		}
	}
	first, _, _ := strings.Cut(string(files["tzdata.zi"]), "\n")
	version, ok := strings.CutPrefix(first, "# version ")
	if !ok {
		return fmt.Errorf("tzdata.zi begins with %q, not with its version", first)
	}
	comment := version + " " + released.Format(time.DateOnly)
	if check {
		have, err := zip.OpenReader("zoneinfo.zip")
		if err != nil {
			return err
		}
		defer have.Close()
		if release, _, _ := strings.Cut(have.Comment, " "); release != version {
			return fmt.Errorf("the time zone data here are of %s, the newest are of %s: run go generate ./checks/schedule", release, version)
		}
		return nil
	}
	lines, current := names(files)
	for _, line := range lines {
		all := strings.Fields(line)
		for _, old := range all[1:] {
			if err := sameSince1970(files, old, all[0]); err != nil {
				return err
			}
		}
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range current {
		data := files[name]
		if !bytes.HasPrefix(data, []byte("TZif")) {
			return fmt.Errorf("the package has no zone %s", name)
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	if err := w.SetComment(comment); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile("zones.txt", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		return err
	}
	return os.WriteFile("zoneinfo.zip", out.Bytes(), 0o666)
}

func read(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// sameSince1970 compares the offsets of an old name with those of the current one.
func sameSince1970(files map[string][]byte, old, current string) error {
	before, err := time.LoadLocationFromTZData(old, files[old])
	if err != nil {
		return err
	}
	now, err := time.LoadLocationFromTZData(current, files[current])
	if err != nil {
		return err
	}
	for at := time.Unix(0, 0); at.Year() < 2040; at = at.Add(6 * time.Hour) {
		_, want := at.In(before).Zone()
		if _, got := at.In(now).Zone(); got != want {
			return fmt.Errorf("%s and %s differ at %v: correct zones.txt", old, current, at.UTC())
		}
	}
	return nil
}

// names returns the lines of zones.txt, and the current names in them. What zones.txt says already stays: the sources name
// the place that an old name stands for, which their compiled form no longer does. A name that is new is current
// if it is a zone or stands in zone.tab; otherwise it is an old name of what it links to.
func names(files map[string][]byte) (lines, current []string) {
	before, err := os.ReadFile("zones.txt")
	if err != nil {
		log.Fatal(err)
	}
	known := make(map[string][]string) // old names by current name
	listed := make(map[string]string)
	for line := range strings.Lines(string(before)) {
		all := strings.Fields(line)
		known[all[0]] = all[1:]
		for _, name := range all {
			listed[name] = all[0]
		}
	}
	places := make(map[string]bool)
	for line := range strings.Lines(string(files["zone.tab"])) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); !strings.HasPrefix(line, "#") && len(fields) > 2 {
			places[fields[2]] = true
		}
	}
	links := make(map[string]string)
	for line := range strings.Lines(string(files["tzdata.zi"])) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "L" {
			links[fields[2]] = fields[1]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !bytes.HasPrefix(files[name], []byte("TZif")) || listed[name] != "" || name == "Factory" {
			continue
		}
		target := links[name]
		if target == "" || places[name] {
			known[name] = nil
			log.Printf("%s is new", name)
			continue
		}
		if listed[target] != "" {
			target = listed[target]
		}
		known[target] = append(known[target], name)
		log.Printf("%s is new, and taken for an old name of %s: compare the file backward of the sources", name, target)
	}
	for name := range listed {
		if files[name] == nil {
			log.Printf("%s has gone: remove it from zones.txt, and name its successor in goneZones", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		current = append(current, name)
		slices.Sort(known[name])
		lines = append(lines, strings.Join(append([]string{name}, known[name]...), " "))
	}
	return lines, current
}
