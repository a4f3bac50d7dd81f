package server

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	testID  = "1f0e3c9a-0b1c-4d2e-8f3a-0123456789ab"
	testKey = "abcdefghijklmnopqrst12"
)

func TestParsePingPath(t *testing.T) {
	id := uuid.MustParse(testID)
	byID := func(kind pings.Kind, exit *int) pingTarget { return pingTarget{id: id, kind: kind, exit: exit} }
	bySlug := func(slug string, kind pings.Kind, exit *int) pingTarget {
		return pingTarget{key: testKey, slug: slug, kind: kind, exit: exit}
	}
	for path, want := range map[string]any{
		"/" + testID:                           byID(pings.Success, nil),
		"/" + testID + "/":                     byID(pings.Success, nil),
		"/" + testID + "/start":                byID(pings.Start, nil),
		"/" + testID + "/fail/":                byID(pings.Failure, nil),
		"/" + testID + "/log":                  byID(pings.Log, nil),
		"/" + testID + "/0":                    byID(pings.Success, new(0)),
		"/" + testID + "/00000000000000007":    byID(pings.Failure, new(7)),
		"/" + testID + "/255":                  byID(pings.Failure, new(255)),
		"/" + testID + "/256":                  errBadURL,
		"/" + testID + "/18446744073709551616": errBadURL,
		"/" + testID + "/+1":                   errNotFound,
		"/" + testID + "/1_0":                  errNotFound,
		"/" + testID + "/٣":                    errNotFound,
		"/" + testID + "/Start":                errNotFound,
		"/" + testID + "//start":               errNotFound,
		"/" + testID + "/start//":              errNotFound,
		"/" + testID + "/job/start":            errNotFound,
		testID:                                 errNotFound,
		"//" + testID:                          errNotFound,
		"":                                     errNotFound,
		"/":                                    errNotFound,
		"*":                                    errNotFound,
		"/" + testKey:                          errNotFound,
		"/" + testKey + "/job":                 bySlug("job", pings.Success, nil),
		"/" + testKey + "/j%6fb/%66ail":        bySlug("job", pings.Failure, nil),
		"/" + testKey + "/0":                   bySlug("0", pings.Success, nil),
		"/" + testKey + "/-_/3":                bySlug("-_", pings.Failure, new(3)),
		"/" + testKey + "/" + testID:           bySlug(testID, pings.Success, nil),
		"/" + testKey + "/" + strings.ToUpper(testID): errBadURL,
		"/" + testKey + "/Job":                        errBadURL,
		"/" + testKey + "/Job/256":                    errBadURL,
		"/" + testKey + "/jOb/nothing":                errBadURL,
		"/short/Job":                                  errBadURL,
		"/" + testKey + "/Jöb":                        errNotFound,
		"/" + testKey + "/job.x":                      errNotFound,
		"/" + testKey + "/job%2Fstart":                errNotFound,
		"/" + testKey + "/job%zz":                     errNotFound,
		"/" + testKey + "/job/256":                    errBadURL,
		"/" + testKey + "/job/start/x":                errNotFound,
		"/" + testKey + "/K":                          errBadURL,
		"/" + testKey + "/\u212A":                     errNotFound, // the Kelvin sign, whose lower case is k
		"/short/job":                                  errNotFound,
		"/" + strings.ToUpper(testKey) + "/job":       errNotFound,
		"/" + strings.ToUpper(testID):                 errNotFound,
		"/" + strings.ToUpper(testID) + "/0":          errNotFound,
	} {
		got, err := parsePingPath(path)
		if wantErr, refused := want.(*problem); refused {
			if !errors.Is(err, wantErr) {
				t.Errorf("%s: %v, error %v, want %v", path, got, err, wantErr)
			}
		} else if diff := cmp.Diff(want, any(got), cmp.AllowUnexported(pingTarget{})); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", path, err, diff)
		}
	}
}

func FuzzPingPath(f *testing.F) {
	for _, seed := range []string{
		"/" + testID + "/start", "/" + testID + "/255", "/" + testKey + "/job/fail", "/" + testKey + "/Job", "//", "/%2F/%00/%zz", "/a/b/c/d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := parsePingPath(path)
		if err != nil {
			if err != errNotFound && err != errBadURL {
				t.Errorf("%q: unexpected error %v", path, err)
			}
			return
		}
		// The plain form of an accepted path means the same.
		plain := "/" + got.id.String()
		if got.slug != "" {
			if !checks.ValidSlug(got.slug) || !checks.ValidPingKey(got.key) {
				t.Errorf("%q: invalid slug or key in %+v", path, got)
			}
			plain = "/" + got.key + "/" + got.slug
		}
		unescaped, err := url.PathUnescape(path)
		if err != nil || !strings.HasPrefix(unescaped, plain) {
			t.Errorf("%q does not start with %s", path, plain)
		}
		if got.exit != nil && (*got.exit < 0 || *got.exit > 255 || (*got.exit == 0) != (got.kind == pings.Success)) {
			t.Errorf("%q: exit status %d makes a %s", path, *got.exit, got.kind)
		}
		again, err := parsePingPath(unescaped)
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(pingTarget{})); err != nil || diff != "" {
			t.Errorf("%q and %q differ, error %v\n%s", path, unescaped, err, diff)
		}
	})
}

func TestQueryValue(t *testing.T) {
	for _, c := range []struct {
		query, want string
		present     bool
	}{
		{"", "", false},
		{"rid", "", true},
		{"rid=", "", true},
		{"rid=a&rid=b", "a", true},
		{"x=1&r%69d=a%20b+c", "a b c", true},
		{"rid=%zz", "%zz", true},
		{"%zz=1&rid=a", "a", true},
		{"arid=a&ridb=c", "", false},
		{"a;rid=b", "", false},
		{"rid=a=b", "a=b", true},
	} {
		if got, present := queryValue(c.query, "rid"); got != c.want || present != c.present {
			t.Errorf("%q: value %q, present %v, want %q, %v", c.query, got, present, c.want, c.present)
		}
	}
}
