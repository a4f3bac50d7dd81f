package schedule_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

type vector struct {
	Kind  schedule.Kind `json:"kind"`
	Class string        `json:"class"`
	Expr  string        `json:"expr"`
	TZ    string        `json:"tz"`
	From  time.Time     `json:"from"`
	Next  []time.Time   `json:"next"`
	Error bool          `json:"error"`
}

func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []vector
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// TestVectors compares results with those of the reference implementations, see testdata/README.md.
func TestVectors(t *testing.T) {
	for _, file := range []struct {
		name  string
		count int
	}{{"cron.jsonl", 1600}, {"oncalendar.jsonl", 1069}} {
		t.Run(file.name, func(t *testing.T) {
			list := readVectors(t, file.name)
			if len(list) != file.count {
				t.Fatalf("%d vectors, want %d", len(list), file.count)
			}
			for _, v := range list {
				checkVector(t, v)
			}
		})
	}
}

func checkVector(t *testing.T, v vector) {
	t.Helper()
	s, err := schedule.Parse(v.Expr)
	if v.Error {
		if err == nil {
			t.Errorf("%s: Parse(%q) accepts what is invalid", v.Class, v.Expr)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: Parse(%q): %v", v.Class, v.Expr, err)
		return
	}
	if kind := schedule.Detect(v.Expr); kind != v.Kind {
		t.Errorf("%s: Detect(%q) = %q, want %q", v.Class, v.Expr, kind, v.Kind)
	}
	loc, err := time.LoadLocation(v.TZ)
	if err != nil {
		t.Fatal(err)
	}
	from := v.From.In(loc)
	for i := range 5 {
		got := s.Next(from)
		if i == len(v.Next) {
			if !got.IsZero() {
				t.Errorf("%s: %q in %s: after %v comes %v, want none", v.Class, v.Expr, v.TZ, from, got)
			}
			return
		}
		if !got.Equal(v.Next[i]) {
			t.Errorf("%s: %q in %s: after %v comes %v, want %v", v.Class, v.Expr, v.TZ, from, got, v.Next[i].In(loc))
			return
		}
		from = got
	}
}
