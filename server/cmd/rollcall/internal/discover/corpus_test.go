package discover

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// testNow is the present of the tests.
var testNow = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// corpusCase is a line of the corpus.
type corpusCase struct {
	ID, About string
	Machine   struct {
		Host, TZ, Cron, Scope string
		Users                 []string
	}
	Files  []corpusFile
	Expect struct {
		Jobs    []corpusJob `json:"jobs"`
		LeftOut []LeftOut   `json:"left_out"`
	}
}

type corpusFile struct {
	Path, Text, Base64, Link, Owner, Mode string
	Unreadable, Packaged                  bool
}

// corpusJob is a job as the corpus has it.
type corpusJob struct {
	Job
	Schedules     []string
	Command       string `json:"command"`
	CommandBase64 string `json:"command_base64"`
	Stdin         string `json:"stdin"`
}

func readCorpus(t *testing.T, name string) (list []corpusCase) {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for decoder.More() {
		var c corpusCase
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// files is a file system in memory, in which some files cannot be opened.
type files struct {
	fstest.MapFS
	closed map[string]bool
}

func (f files) Open(name string) (fs.File, error) {
	if f.closed[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.Open(name)
}

// machine returns the machine of a case. What a case does not say stands in the files in which a machine has it.
func (c corpusCase) machine(t *testing.T) Machine {
	f := files{fstest.MapFS{}, make(map[string]bool)}
	uids := map[string]int{"root": 0, "": 0}
	passwd, packaged := "", ""
	for i, name := range slices.Concat(c.Machine.Users, []string{"root", "ines", "tmpuser"}) {
		if _, ok := uids[name]; !ok {
			uids[name] = 1000 + i
		}
	}
	users := c.Machine.Users
	if users == nil {
		users = []string{"root", "ines"}
	}
	for _, name := range users {
		passwd += fmt.Sprintf("%s:x:%d:100::/home/%s:/bin/sh\n", name, uids[name], name)
	}
	for _, file := range c.Files {
		name, mode := strings.TrimPrefix(file.Path, "/"), fs.FileMode(0o644)
		data := []byte(file.Text)
		if file.Base64 != "" {
			var err error
			if data, err = base64.StdEncoding.DecodeString(file.Base64); err != nil {
				t.Fatal(err)
			}
		}
		if file.Mode != "" {
			n, err := strconv.ParseUint(file.Mode, 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			mode = fs.FileMode(n)
		}
		if file.Link != "" {
			data, mode = []byte(file.Link), fs.ModeSymlink|0o777
		}
		f.closed[name] = file.Unreadable
		if file.Packaged {
			packaged += file.Path + "\n"
		}
		f.MapFS[name] = &fstest.MapFile{Data: data, Mode: mode, Sys: uids[file.Owner]}
	}
	root := func(name, text string) { f.MapFS[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644, Sys: 0} }
	root("etc/passwd", passwd)
	root("etc/hostname", c.Machine.Host+"\n")
	root("etc/timezone", c.Machine.TZ+"\n")
	root("var/lib/dpkg/info/tools.list", packaged)
	m := Machine{FS: f, Cron: Cron(c.Machine.Cron), Now: testNow, Owner: func(info fs.FileInfo) (int, bool) {
		uid, ok := info.Sys().(int)
		return uid, ok
	}}
	m.Host = m.Hostname()
	return m
}

func TestCorpus(t *testing.T) {
	for _, kind := range []string{"crontab", "systemd", "kubernetes"} {
		for _, c := range readCorpus(t, kind+".jsonl") {
			t.Run(c.ID, func(t *testing.T) {
				var got Found
				if kind == "kubernetes" {
					got = Kubernetes(testNow, Manifest{Name: c.Files[0].Path, Data: []byte(c.Files[0].Text)})
				} else {
					got = c.machine(t).Read()
				}
				c.compare(t, got)
			})
		}
	}
}

// compare compares what was found with what the case expects: jobs in any order, and without the words for people.
func (c corpusCase) compare(t *testing.T, got Found) {
	t.Helper()
	var want []Job
	for _, j := range c.Expect.Jobs {
		job := j.Job
		job.Command, job.Stdin = j.Command, j.Stdin
		if j.CommandBase64 != "" {
			command, err := base64.StdEncoding.DecodeString(j.CommandBase64)
			if err != nil {
				t.Fatal(err)
			}
			job.Command = string(command)
		}
		for i := range got.Jobs {
			if len(j.Schedules) > 0 && got.Jobs[i].Slug == job.Slug {
				sameRuns(t, got.Jobs[i], j.Schedules)
				got.Jobs[i].Schedule = ""
			}
		}
		if kubernetes := j.Wrap.Reason == "kubernetes"; kubernetes {
			for i := range got.Jobs {
				got.Jobs[i].Source = ""
			}
		}
		want = append(want, job)
	}
	ignore := cmp.Options{
		cmpopts.IgnoreFields(Job{}, "Places", "OfUser"), cmpopts.IgnoreFields(LeftOut{}, "Detail"), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b Job) bool { return a.Slug < b.Slug }),
		cmpopts.SortSlices(func(a, b LeftOut) bool { return a.Source+a.Reason < b.Source+b.Reason }),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }),
	}
	if diff := cmp.Diff(want, got.Jobs, ignore); diff != "" {
		t.Errorf("%s: jobs (-want +got):\n%s", c.About, diff)
	}
	if diff := cmp.Diff(c.Expect.LeftOut, got.LeftOut, ignore); diff != "" {
		t.Errorf("%s: left out (-want +got):\n%s", c.About, diff)
	}
}

// sameRuns checks that a job's schedule fires at exactly the runs of several ones, in the next year.
func sameRuns(t *testing.T, job Job, schedules []string) {
	t.Helper()
	loc, err := schedule.LoadLocation(job.TZ)
	if err != nil {
		t.Fatal(err)
	}
	runs := func(expr string) (list []time.Time) {
		s, err := schedule.Parse(expr)
		if err != nil {
			t.Errorf("%q: %v", expr, err)
			return nil
		}
		for at := s.Next(testNow.In(loc)); !at.IsZero() && at.Before(testNow.AddDate(1, 0, 0)); at = s.Next(at) {
			list = append(list, at)
		}
		return list
	}
	var want []time.Time
	for _, expr := range schedules {
		want = append(want, runs(expr)...)
	}
	slices.SortFunc(want, time.Time.Compare)
	want = slices.CompactFunc(want, time.Time.Equal)
	if got := runs(job.Schedule); !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%q fires at other times than %q", job.Schedule, schedules)
	}
}
