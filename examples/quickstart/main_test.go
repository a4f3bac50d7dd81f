package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/examples/internal/testserver"
)

// TestCurrent runs the quick start, and compares the picture of it with the one of README.md.
func TestCurrent(t *testing.T) {
	testserver.Require(t, "curl")
	got, err := record(t.Context(), "../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../.github/quickstart.svg")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("not current; go run -C examples ./quickstart (-want +got):\n%s", diff)
	}
}

// TestDraw: the picture is XML of a size that a page bears, shows each line, and hides what is not yet typed only from those who
// have not asked for less motion.
func TestDraw(t *testing.T) {
	long := string(bytes.Repeat([]byte("long "), 40))
	picture := draw([]step{{"echo <&>", []string{"<&>", "", long}}, {"# then\na \\\n  b", nil}})
	for decoder := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"echo &lt;&amp;&gt;</text>", "…</text>", ">  b</text>", "prefers-reduced-motion: no-preference"} {
		if !bytes.Contains(picture, []byte(want)) {
			t.Errorf("no %s in\n%s", want, picture)
		}
	}
	committed, err := os.ReadFile("../../.github/quickstart.svg")
	if err != nil {
		t.Fatal(err)
	}
	if len(committed) > 60_000 {
		t.Errorf("the picture has %d bytes", len(committed))
	}
}
