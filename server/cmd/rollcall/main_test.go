package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestMain makes this test binary act as the rollcall command for scripts and tests.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"rollcall": main})
}

// suite runs the tests, and then stops their database server.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	// Children inherit ignored signals: SIGHUP under nohup, SIGINT and SIGQUIT in the background of a script. They do not
	// inherit caught ones.
	caught := make(chan os.Signal, 1)
	for _, sig := range passedOn() {
		if signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
	return dbtest.Run(s.m)
}

// TestScripts runs the scripts that need no database, or create an SQLite file.
func TestScripts(t *testing.T) {
	params := scriptParams(nil)
	params.Dir = "testdata/script"
	testscript.Run(t, params)
}

// onBoth are the scripts about databases, servers that share one, and commands beside a server. Others are about commands that any
// store would serve alike.
var onBoth = []string{"admin_while_serving.txt", "apply.txt", "first_start.txt", "import.txt", "migrate.txt", "project.txt", "rotate.txt", "servers.txt"}

// TestDatabaseScripts runs the other scripts, those of onBoth on both databases. $DATABASE is a new one.
func TestDatabaseScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/database/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel() // some wait until a server forgets a key
			each := dbtest.EachAtRelease[*testing.T]
			if slices.Contains(onBoth, filepath.Base(file)) {
				each = dbtest.Each
			}
			each(t, func(t *testing.T, db dbtest.DB) {
				if filepath.Base(file) == "migrate.txt" { // which needs an empty one
					db = db.Empty(t)
				}
				params := scriptParams(map[string]string{"DATABASE": db.URL})
				params.Files = []string{file}
				testscript.Run(t, params)
			})
		})
	}
}

// raceOptions keep the race detector from delaying the end of a command by a second.
const raceOptions = "atexit_sleep_ms=0"

// scriptParams returns the parameters of all scripts, with some variables.
func scriptParams(vars map[string]string) testscript.Params {
	return testscript.Params{
		Setup: func(env *testscript.Env) error {
			env.Values[serversKey{}] = scriptServers{}
			env.Setenv("GORACE", raceOptions)
			// Most commands end before a collection of garbage would pay: a quarter of their time.
			env.Setenv("GOGC", "off")
			env.Setenv("GOMEMLIMIT", "256MiB")
			for name, value := range vars {
				env.Setenv(name, value)
			}
			return nil
		},
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(10 * patience), // for a server that should have refused to start
		Condition: func(cond string) (bool, error) {
			return cond == "root" && os.Getuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":   cmdStatus,
			"start":    cmdStart,
			"end":      cmdEnd,
			"http":     cmdHTTP,
			"paste":    cmdPaste,
			"jsonget":  cmdJSONGet,
			"jsonkeys": cmdJSONKeys,
			"sql":      cmdSQL,
			"listen":   cmdListen,
		},
	}
}
