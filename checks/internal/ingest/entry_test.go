package ingest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// TestSpooledContradiction decodes a ping that an earlier version spooled.
func TestSpooledContradiction(t *testing.T) {
	text, err := entryOf(uuid.New(), &queued{signal: pings.Signal{Kind: pings.Success, ExitStatus: new(3)}}).encode()
	if err != nil {
		t.Fatal(err)
	}
	e, err := decode(text)
	if err != nil || e.Signal.Kind != pings.Success || e.Signal.ExitStatus != nil {
		t.Errorf("%+v, %v; want a success without an exit status", e.Signal, err)
	}
}

// TestSpooledScheme decodes pings whose scheme an earlier version did not check: it counted them by their kind.
func TestSpooledScheme(t *testing.T) {
	for _, signal := range []pings.Signal{{Scheme: "smtp"}, {Scheme: "email"}, {Method: "GET"}, {Mail: &pings.Mail{}}, {Filtered: []byte("x")}} {
		signal.Kind, signal.Body = pings.Failure, []byte("body")
		text, err := entryOf(uuid.New(), &queued{signal: signal}).encode()
		if err != nil {
			t.Fatal(err)
		}
		e, err := decode(text)
		if diff := cmp.Diff(pings.Signal{Kind: pings.Failure, Body: []byte("body")}, e.Signal); diff != "" || err != nil {
			t.Errorf("%+v: %v\n%s", signal, err, diff)
		}
	}
}

// FuzzSpooled decodes any text. What can be decoded is encoded to the same ping again.
func FuzzSpooled(f *testing.F) {
	run := uuid.New()
	p := &queued{
		check: uuid.New(), number: 7, at: time.UnixMicro(1_770_000_000_000_001).UTC(),
		signal: pings.Signal{Kind: pings.Failure, Body: []byte("a\x00\xff"), BodyCut: 5, BodyCharset: "koi8-r", WaitedSince: time.UnixMicro(1_760_000_000_000_000).UTC(), Scheme: "email", Mail: &pings.Mail{Subject: "done"}},
	}
	text, err := entryOf(run, p).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"Version":1,"Number":-1,"AtMicros":9223372036854775807,"Slug":{"PingKey":"k","Slug":"s","Create":true}}`))
	f.Add([]byte(`{"Version":2}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := decode(text)
		if err != nil {
			return
		}
		if !first.Signal.RunID.Valid {
			first.Signal.RunID = uuid.NullUUID{}
		}
		again, err := first.encode()
		if err != nil {
			t.Fatal(err)
		}
		second, err := decode(again)
		if diff := cmp.Diff(first, second); diff != "" || err != nil {
			t.Errorf("(-first +second):\n%s%v", diff, err)
		}
	})
}
