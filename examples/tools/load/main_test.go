package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// binary is the rollcall that the tests measure.
var binary string

// TestMain makes the test program the ceiling that the tests start, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ceilingArg {
		main()
		return
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rollcall-load-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if binary, err = program.Build(context.Background(), dir); err != nil {
		panic(err)
	}
	return dbtest.Run(m)
}

// measured runs the program and checks that its output has lines of the given forms.
func measured(t *testing.T, flags string, forms ...string) {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), append(strings.Fields(flags), "--duration=200ms"), &out); err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		if !regexp.MustCompile("(?m)^" + form + "$").MatchString(out.String()) {
			t.Errorf("no line is of the form %q in\n%s", form, out.String())
		}
	}
}

// figures is the form of the figures of rollcall. The ceiling has no batches, and Citus alone has a coordinator.
const (
	figures      = beforeCitus + `0\.00` + afterCitus
	figuresCitus = beforeCitus + `[01]\.\d\d` + afterCitus
	beforeCitus  = `( +\d+)( +\d+\.\d\d){4}( +\d+\.\d){2} +`
	afterCitus   = ` +\d+\.\d +\d+ +[1-9]\d*\.\d`
)

func TestLoad(t *testing.T) {
	const ceiling = `  ceiling  +[1-9]\d* +1\.00( +\d+\.\d\d){3} .*`
	measured(t, "--rollcall="+binary+" --checks=70 --connections=8 --rounds=2",
		`SQLite, 70 checks, 8 connections, .*`, ` round  server +pings/s +share +p50 ms +p99 ms +max ms +CPU µs +database µs +coordinator +generator µs +bytes +batch`,
		`     2`+ceiling, `     2  SQLite     `+figures, `median`+ceiling, `median  SQLite     `+figures)
	measured(t, "--rollcall="+binary+" --checks=3 --connections=4 --rounds=1 --new-connections --body=20000", `median  SQLite     `+figures)
	measured(t, "--rollcall="+binary+" --checks=3 --connections=4 --rounds=1 --rate=100", `median  SQLite +\d\d?\d? .*`)
}

func TestReads(t *testing.T) {
	const read = ` +\d+ +[1-9]\d*( +\d+\.\d\d){3} +[1-9]\d* +\d+\.\d\d`
	measured(t, "--rollcall="+binary+" --checks=30 --channels=2 --reads --connections=2",
		`check`+read, `badge of a check`+read, `badge of all`+read, `list of checks`+read)
}

func TestPages(t *testing.T) {
	measured(t, "--rollcall="+binary+" --checks=30 --pages=3 --connections=2",
		`list +[1-9]\d* +[1-9]\d* +[1-9]\d*( +\d+\.\d\d){4}`, `open pages .*`, `3 +[1-9]\d* +\d+\.\d\d( +\d+\.\d){3}`)
}

func TestStored(t *testing.T) {
	for database, name := range map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"} {
		measured(t, "--stored --checks=20 --body=300 --database="+database,
			name+`: each of 20 checks takes [1-9]\d+ bytes, a ping [1-9]\d+, and one with a body of 300 bytes [3-9]\d\d`)
	}
}

func TestOverdue(t *testing.T) {
	measured(t, "--rollcall="+binary+" --checks=2000 --overdue=1500",
		`start-up: .*; memory: .* MB`, `idle watcher: .*`, `1500 checks that became overdue at once were down after .*`)
}

func TestDeadlines(t *testing.T) {
	const figures = ` +4( +\d+\.\d){3} +\d+ `
	measured(t, "--rollcall="+binary+" --checks=9 --deadlines=2 --rounds=2 --rate=100 --connections=2 --against="+binary,
		`SQLite, 9 checks, .*`, `rollcall `+figures+`.*`, `against  `+figures+`+unknown +\d+ +\d+`)
	measured(t, "--rollcall="+binary+" --checks=9 --deadlines=4 --rounds=1 --database=postgres", `rollcall `+figures+`+\d+ +\d+ +\d+`)
}

// TestPostgreSQL measures on the server of the tests, and on one that the program starts.
func TestPostgreSQL(t *testing.T) {
	for _, database := range []string{dbtest.PostgreSQL(t).URL, "postgres"} {
		measured(t, "--rollcall="+binary+" --database="+database+" --checks=20 --connections=4 --rounds=1", `median  PostgreSQL `+figures)
	}
	measured(t, "--rollcall="+binary+" --database="+dbtest.PostgreSQL(t).URL+" --checks=100 --overdue=60", `60 checks .*`)
	for flags, name := range map[string]string{"--servers=3": "3 servers  ", "--servers=2 --scatter": "2 servers  "} {
		measured(t, "--rollcall="+binary+" --database="+dbtest.PostgreSQL(t).URL+" --checks=20 --connections=6 --rounds=2 "+flags,
			`     2  one server +[1-9]\d* +1\.00 .*`, `median  `+name+figures)
	}
}

// TestCitus compares a cluster of Citus with a single PostgreSQL. All nodes work for a ping.
func TestCitus(t *testing.T) {
	if os.Getenv("ROLLCALL_TEST_CITUS") == "" {
		t.Skip("Citus is missing: run .ci/citus")
	}
	measured(t, "--rollcall="+binary+" --database=postgres --database=citus --checks=20 --connections=4 --rounds=1",
		`PostgreSQL, 20 checks, .*`, `Citus, 20 checks, .*`, `median  PostgreSQL `+figures, `median  Citus      `+figuresCitus)
}

func TestProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	measured(t, "--checks=3 --connections=4 --rounds=1 --profile="+file)
	if profile, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(profile), "\x1f\x8b") {
		t.Errorf("not a profile, which is compressed by gzip: %.20q, %v", profile, err)
	}
}

func TestRefused(t *testing.T) {
	for _, flags := range []string{
		"--checks=0", "--checks=", "--checks=5,0", "--checks=5,6 --reads", "--checks=5,6 --database=postgres://x", "--connections=0", "--overdue=2000", "--database=mysql://x", "--duration=1ns", "--rate=-3", "--unknown",
		"--servers=0", "--servers=17", "--stored --reads", "--stored --database=citus", "--servers=2 --reads", "--servers=2 --deadlines=3", "--deadlines=400", "--against=x", "--database=sqlite --database=postgres --reads", "--rollcall=x --profile=y",
	} {
		if err := run(t.Context(), strings.Fields(flags), io.Discard); err == nil {
			t.Errorf("%s is accepted", flags)
		}
	}
}

func TestMedians(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		var rounds []round
		for _, v := range test.values {
			rounds = append(rounds, round{v})
		}
		if got := medians(rounds)[0]; got != test.want {
			t.Errorf("median of %v: %v, want %v", test.values, got, test.want)
		}
	}
}

func TestSizes(t *testing.T) {
	const cost = ` +\d+\.\d{4} +(\d+\.\d|-) +-?\d+\.\d +(-?\d+\.\d|-)`
	for database, figures := range map[string]string{"sqlite": cost, "postgres": cost + cost} {
		var forms []string
		for _, request := range []string{"list", "list of a tag", "overview", "list page", "metrics", "badge of a tag"} {
			forms = append(forms, request+` +70 +\d+\.\d`+figures, request+` +200 +\d+\.\d`+figures)
		}
		measured(t, "--rollcall="+binary+" --checks=70,200 --database="+database, forms...)
	}
}
