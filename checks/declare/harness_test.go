package declare_test

import (
	"bytes"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// secrets holds the values of the environment variables and files that the tests read.
var secrets = map[string]string{
	"TOKEN": "Authorization: s3cret", "OTHER": "Authorization: n3xt", "HOOK": "https://example.org/s3cret",
	"OPS": "s3cret@example.org", "body.txt": "token=s3cret",
}

func parse(t *testing.T, text string) (declare.Document, error) {
	t.Helper()
	return declare.Parse([]byte(text), &declare.Config{
		Name: "f.yaml", Now: noon, Types: standard.Kinds(),
		Env: func(name string) (string, error) {
			if value, ok := secrets[name]; ok {
				return value, nil
			}
			return "", errors.New("is not set")
		},
		File: func(path string) (string, error) {
			if value, ok := secrets[path]; ok {
				return value, nil
			}
			return "", os.ErrNotExist
		},
	})
}

func mustParse(t *testing.T, text string) declare.Document {
	t.Helper()
	doc, err := parse(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// site is a database with a monitor.
type site struct {
	*testing.T
	mon *monitor.Monitor
}

func open(t *testing.T, db dbtest.DB) site {
	t.Helper()
	var reads atomic.Int64 // each read of the clock is later, so that objects have a fixed order
	now := func() time.Time { return noon.Add(time.Duration(reads.Add(1)) * time.Millisecond) }
	mon, err := monitor.New(db.Open(t), &monitor.Config{Now: now, Channels: standard.Kinds(), DeliveredElsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	return site{t, mon}
}

func (s site) plan(doc declare.Document, o declare.Options) declare.Plan {
	s.Helper()
	o.Now = noon
	p, err := declare.NewPlan(s.Context(), declare.OnProjects(s.mon.Projects()), doc, &o)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// apply applies a file and returns the text of its plan.
func (s site) apply(text string, o declare.Options) string {
	s.Helper()
	p := s.plan(mustParse(s.T, text), o)
	if _, err := p.Apply(s.Context(), declare.OnProjects(s.mon.Projects()), nil); err != nil {
		s.Fatal(err)
	}
	return p.String()
}

// refused returns the errors of planning a file.
func (s site) refused(text string, target declare.Target) string {
	s.Helper()
	doc := mustParse(s.T, text)
	p, err := declare.NewPlan(s.Context(), target, doc, &declare.Options{Now: noon})
	list, ok := errors.AsType[declare.Errors](err)
	if !ok {
		s.Fatalf("error %v and plan\n%v; want Errors", err, p)
	}
	return list.Error()
}

func (s site) state(project string) declare.State {
	s.Helper()
	state, err := declare.OnProjects(s.mon.Projects()).Read(s.Context(), project)
	if err != nil {
		s.Fatal(err)
	}
	state.Now = noon
	return state
}

func (s site) export(projects ...string) string {
	s.Helper()
	doc := declare.Document{}
	for _, name := range projects {
		doc.Projects = append(doc.Projects, declare.Export(s.state(name)))
	}
	var out bytes.Buffer
	if err := doc.Write(&out); err != nil {
		s.Fatal(err)
	}
	return out.String()
}

func (s site) create(project string, spec checks.Spec) checks.Check {
	s.Helper()
	p, err := s.mon.OpenProject(s.Context(), project)
	if err != nil {
		s.Fatal(err)
	}
	c, err := p.Create(s.Context(), spec)
	if err != nil {
		s.Fatal(err)
	}
	return *c.Check
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// only returns one project as a target, as a read-write key opens it.
func (s site) only(project string) declare.Target {
	s.Helper()
	p, err := s.mon.OpenProject(s.Context(), project)
	if err != nil {
		s.Fatal(err)
	}
	return declare.OnProject(p)
}
