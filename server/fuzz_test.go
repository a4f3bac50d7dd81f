package server

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// FuzzRunID: for any query, a run identifier is accepted or refused, never dropped. An accepted one occurs in the
// query.
func FuzzRunID(f *testing.F) {
	const id = "11111111-2222-4333-8444-555555555555"
	for _, seed := range []string{
		"", "rid", "rid=", "rid=" + id, "rid=" + strings.ToUpper("aaaaaaaa-2222-4333-8444-555555555555"), "rid=%zz", "a=1&rid=" + id + "&rid=x",
		"r%69d=" + id, "rid=urn:uuid:" + id, "rid={" + id + "}", "rid=" + strings.ReplaceAll(id, "-", ""), "create=1&rid=" + id[:35] + "%35",
		";rid=" + id, "rid=" + id + "%00", "rid=" + id + "#", "%72id=x", "rid=\xff", "rid=+" + id, "rid==" + id, "&&rid&" + id,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		run, err := parseRunID(query)
		// queryValue finds whatever url.ParseQuery finds.
		if values, parseErr := url.ParseQuery(query); parseErr == nil && (values.Get("rid") != "") == (err == nil && !run.Valid) {
			t.Fatalf("%q: run %v, error %v; url.ParseQuery finds %q", query, run, err, values["rid"])
		}
		switch {
		case err != nil && (err != errBadRunID || run.Valid):
			t.Errorf("%q: run %v with error %v", query, run, err)
		case run.Valid && run.UUID.String() == uuid.Nil.String() && !strings.Contains(query, "0"):
			t.Errorf("%q: run is the zero UUID", query)
		case run.Valid:
			again, err := parseRunID("rid=" + run.UUID.String())
			if err != nil || again != run {
				t.Errorf("%q: run %v, but %v, error %v in the plain form", query, run, again, err)
			}
		}
	})
}
