package badges_test

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/badges"
	"pgregory.net/rapid"
)

// signer returns a Signer with the text, repeated, as secret.
func signer(t testing.TB, text string) badges.Signer {
	t.Helper()
	s, err := badges.NewSigner([]byte(strings.Repeat(text, badges.MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSigner(t *testing.T) {
	_, err := badges.NewSigner(make([]byte, 15))
	if diff := cmp.Diff("badges: the secret is too short: 15 bytes, the minimum is 16", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	secret := []byte("0123456789abcdef")
	s, err := badges.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	before := s.Path("k", "tag", badges.SVG, true)
	secret[0] = 'x'
	if diff := cmp.Diff(before, s.Path("k", "tag", badges.SVG, true)); diff != "" {
		t.Errorf("the secret is shared with the caller:\n%s", diff)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if diff := cmp.Diff("badges.Signer", fmt.Sprintf(verb, s)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestZeroSigner(t *testing.T) {
	var zero badges.Signer
	if _, err := zero.Parse(signer(t, "s").Path("k", "tag", badges.SVG, true)); !errors.Is(err, badges.ErrNotFound) {
		t.Errorf("Parse: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Path does not panic")
		}
	}()
	zero.Path("k", "tag", badges.SVG, true)
}

// TestPathForm pins the form of addresses, which are embedded in web pages for years.
func TestPathForm(t *testing.T) {
	s, err := badges.NewSigner([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		s.Path("key", "prod", badges.SVG, true),
		s.Path("key", "prod", badges.JSON, false),
		s.Path("key", badges.AllTags, badges.Shields, true),
		s.Path("key", badges.AllTags, badges.SVG, false),
		s.Path("a/b", "ü/%.", badges.SVG, true),
	}
	want := []string{
		"/badge/key/SIGNATURE/prod.svg",
		"/badge/key/SIGNATURE-2/prod.json",
		"/badge/key/SIGNATURE.shields",
		"/badge/key/SIGNATURE-2.svg",
		"/badge/a%2Fb/SIGNATURE/%C3%BC%2F%25..svg",
	}
	signature := regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	for i := range got {
		if found := signature.FindAllString(got[i], -1); len(found) != 1 {
			t.Errorf("no signature of 32 digits in %s", got[i])
		}
		got[i] = signature.ReplaceAllString(got[i], "SIGNATURE")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// awkward lists tags that break naive addresses.
var awkward = []string{
	"prod", "a/b", "/", "//", "a//b", "%", "%2F", "%25", "%zz", ".", "..", "...", "../..", "./x", "?", "a?b=c", "#", "a#b",
	"**", "%2A", `"`, "'", "<", ">", "<svg>", `\`, `..\`, "&", "&amp;", "+", ";", ":", "@", "!", "$", "(", ")", ",", "=", "[", "]",
	"{", "}", "|", "^", "`", "~", "-2", "x-2", ".svg", "x.svg", "svg", "-2.svg", "a.json", "\x00", "\x01\x7f", "\xff", "a\xc3", "\xed\xa0\x80",
	"日本語", "🚀", "👩‍👩‍👧", "قاعدة", "\u202eabc", "e\u0301", "é", "\ufeff", "\ufffd", "ＡＢ", strings.Repeat("x", 500),
}

func TestPathRoundTrip(t *testing.T) {
	s := signer(t, "s")
	for _, tag := range append(awkward, badges.AllTags) {
		for _, f := range []badges.Format{badges.SVG, badges.JSON, badges.Shields} {
			for _, late := range []bool{false, true} {
				checkRoundTrip(t, s, badges.Ref{BadgeKey: "k3y", Tag: tag, Format: f, Late: late})
			}
		}
	}
	for _, key := range awkward {
		if key != "." && key != ".." {
			checkRoundTrip(t, s, badges.Ref{BadgeKey: key, Tag: "tag", Format: badges.SVG, Late: true})
		}
	}
}

// checkRoundTrip sends the address of a badge through clients, proxies and servers.
func checkRoundTrip(t interface {
	Helper()
	Errorf(string, ...any)
}, s badges.Signer, ref badges.Ref) {
	t.Helper()
	address := s.Path(ref.BadgeKey, ref.Tag, ref.Format, ref.Late)
	u, err := url.Parse("https://example.org" + address)
	if err != nil {
		t.Errorf("%+v: %v", ref, err)
		return
	}
	sent, err := url.ParseRequestURI(u.RequestURI()) // as a server reads a request line
	if err != nil {
		t.Errorf("%+v: %v", ref, err)
		return
	}
	for step, escaped := range map[string]string{
		"as made":             address,
		"through a URL":       u.EscapedPath(),
		"through a request":   sent.EscapedPath(),
		"normalised dots":     path.Clean(address),
		"resolved by browser": u.ResolveReference(&url.URL{}).EscapedPath(),
		"lower-case escapes":  regexp.MustCompile(`%[0-9A-F]{2}`).ReplaceAllStringFunc(address, strings.ToLower),
		"as Go escapes it":    (&url.URL{Path: sent.Path}).EscapedPath(), // slashes are no longer escaped
	} {
		if step == "as Go escapes it" && strings.Contains(ref.BadgeKey, "/") {
			continue
		}
		got, err := s.Parse(escaped)
		if err != nil {
			t.Errorf("%s: %+v: %s: %v", step, ref, escaped, err)
			continue
		}
		if diff := cmp.Diff(ref, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", step, escaped, diff)
		}
	}
}

func TestPathRoundTripProperty(t *testing.T) {
	// Half of the texts consist of characters with a meaning in URLs.
	special := rapid.StringOfN(rapid.SampledFrom([]rune("./%?#*-2svg\\\"<&+;\x00 é🚀")), 1, 12, -1)
	bytes := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), func(b []byte) string { return string(b) })
	text := rapid.OneOf(special, bytes, rapid.StringN(1, 20, -1))
	keys := text.Filter(func(key string) bool { return key != "." && key != ".." })
	s, other := signer(t, "s"), signer(t, "o")
	rapid.Check(t, func(t *rapid.T) {
		ref := badges.Ref{
			BadgeKey: keys.Draw(t, "key"),
			Tag:      text.Draw(t, "tag"),
			Format:   rapid.SampledFrom([]badges.Format{badges.SVG, badges.JSON, badges.Shields}).Draw(t, "format"),
			Late:     rapid.Bool().Draw(t, "late"),
		}
		checkRoundTrip(t, s, ref)
		address := s.Path(ref.BadgeKey, ref.Tag, ref.Format, ref.Late)
		if got, err := other.Parse(address); !errors.Is(err, badges.ErrNotFound) {
			t.Errorf("another signer accepts %s: %+v", address, got)
		}
	})
}

// TestSignatureCoversKeyAndTag moves the border between badge key and tag, and uses the signature of one badge for
// another.
func TestSignatureCoversKeyAndTag(t *testing.T) {
	s := signer(t, "s")
	signature := func(key, tag string) string {
		return strings.Split(s.Path(key, tag, badges.SVG, true), "/")[3]
	}
	seen := make(map[string]string)
	for _, pair := range [][2]string{{"ab", "c"}, {"a", "bc"}, {"abc", "x"}, {"a\x00", "b"}, {"a", "\x00b"}, {"a/b", "c"}, {"a", "b/c"}} {
		sum := signature(pair[0], pair[1])
		if other, found := seen[sum]; found {
			t.Errorf("%q and %s have the same signature", pair, other)
		}
		seen[sum] = fmt.Sprintf("%q", pair)
	}
}

func TestParseRefuses(t *testing.T) {
	s := signer(t, "s")
	good := s.Path("key", "prod", badges.SVG, true)
	signature := strings.Split(good, "/")[3]
	all := strings.TrimSuffix(strings.Split(s.Path("key", "*", badges.SVG, true), "/")[3], ".svg")
	if _, err := s.Parse(good); err != nil {
		t.Fatal(err)
	}
	first := "0"
	if signature[:1] == first {
		first = "1"
	}
	tests := map[string]string{
		"empty":                       "",
		"root":                        "/",
		"prefix alone":                "/badge/",
		"no tag, no format":           "/badge/key/" + signature,
		"no signature":                "/badge/key/prod.svg",
		"empty signature":             "/badge/key//prod.svg",
		"suffix alone":                "/badge/key/-2/prod.svg",
		"wrong signature":             strings.Replace(good, signature, first+signature[1:], 1),
		"short signature":             strings.Replace(good, signature, signature[1:], 1),
		"long signature":              strings.Replace(good, signature, signature+"0", 1),
		"signature in upper case":     strings.Replace(good, signature, strings.ToUpper(signature), 1),
		"two suffixes":                strings.Replace(good, signature, signature+"-2-2", 1),
		"another suffix":              strings.Replace(good, signature, signature+"-3", 1),
		"another tag":                 strings.Replace(good, "prod", "prod2", 1),
		"another key":                 strings.Replace(good, "key", "key2", 1),
		"no key":                      strings.Replace(good, "key", "", 1),
		"another format":              strings.Replace(good, ".svg", ".png", 1),
		"format in upper case":        strings.Replace(good, ".svg", ".SVG", 1),
		"no format":                   strings.Replace(good, ".svg", "", 1),
		"empty format":                strings.Replace(good, ".svg", ".", 1),
		"something after the format":  good + "/",
		"something before":            "/x" + good,
		"prefix in upper case":        strings.Replace(good, "/badge/", "/Badge/", 1),
		"relative":                    good[1:],
		"half an escape":              strings.Replace(good, "prod", "prod%2", 1),
		"no escape":                   strings.Replace(good, "prod", "prod%zz", 1),
		"half an escape in the key":   strings.Replace(good, "key", "key%", 1),
		"signature of the tag for *":  "/badge/key/" + signature + ".svg",
		"signature of * for a tag":    "/badge/key/" + all + "/prod.svg",
		"* instead of a tag":          "/badge/key/" + all + "/*.svg",
		"* escaped":                   "/badge/key/" + all + "/%2A.svg",
		"an empty tag, signed":        s.Path("key", "", badges.SVG, true),
		"an empty key, signed":        s.Path("", "prod", badges.SVG, true),
		"an unknown format, signed":   s.Path("key", "prod", "png", true),
		"the address of a check":      badges.CheckPath("key", badges.SVG, true),
		"white space at the end":      good + " ",
		"twice":                       good + good,
		"a signature escaped, too":    strings.Replace(good, signature, "%"+fmt.Sprintf("%X", signature[0])+signature[1:], 1),
		"a suffix that is escaped":    strings.Replace(good, signature, signature+"%2D2", 1),
		"a slash escaped by somebody": strings.Replace(good, "/prod", "%2Fprod", 1),
	}
	for name, address := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := s.Parse(address)
			if !errors.Is(err, badges.ErrNotFound) {
				t.Errorf("Parse(%q): %v", address, err)
			}
			if diff := cmp.Diff(badges.Ref{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckPath(t *testing.T) {
	got := []string{
		badges.CheckPath("0123456789ab", badges.SVG, false),
		badges.CheckPath("0123456789ab", badges.Shields, true),
	}
	want := []string{"/b/2/0123456789ab.svg", "/b/3/0123456789ab.shields"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, key := range awkward {
		for _, late := range []bool{false, true} {
			u, err := url.Parse("https://example.org" + badges.CheckPath(key, badges.JSON, late))
			if err != nil {
				t.Fatal(err)
			}
			got, err := badges.ParseCheckPath(u.EscapedPath())
			if want := (badges.Ref{BadgeKey: key, Format: badges.JSON, Late: late}); err != nil || got != want {
				t.Errorf("%s: got %+v, %v, want %+v", u, got, err, want)
			}
		}
	}
}

func TestParseCheckPathRefuses(t *testing.T) {
	for _, address := range []string{
		"", "/", "/b/", "/b/2", "/b/2/", "/b/2/key", "/b/2/.svg", "/b/2/key.png", "/b/2/key.SVG", "/b/1/key.svg", "/b//key.svg",
		"/b/23/key.svg", "/b/%32/key.svg", "/b/key.svg", "b/2/key.svg", "/B/2/key.svg", "/b/2/a/b.svg", "/b/2/key.svg/", "/b/2/k%.svg",
		"/b/2/k%2.svg", "/badge/2/key.svg",
	} {
		ref, err := badges.ParseCheckPath(address)
		if !errors.Is(err, badges.ErrNotFound) || ref != (badges.Ref{}) {
			t.Errorf("ParseCheckPath(%q) = %+v, %v", address, ref, err)
		}
	}
}

// FuzzSignerParse mutates valid addresses. Parse must accept only what was signed.
func FuzzSignerParse(f *testing.F) {
	s := signer(f, "s")
	for _, tag := range append(awkward, badges.AllTags) {
		f.Add("key", tag, s.Path("key", tag, badges.SVG, true))
		f.Add("key", tag, s.Path("key", tag, badges.JSON, false))
	}
	f.Add("", "", "/badge//.svg")
	f.Fuzz(func(t *testing.T, key, tag, address string) {
		if key != "" && tag != "" && key != "." && key != ".." {
			checkRoundTrip(t, s, badges.Ref{BadgeKey: key, Tag: tag, Format: badges.Shields})
		}
		got, err := s.Parse(address)
		if err != nil {
			if err != badges.ErrNotFound || got != (badges.Ref{}) {
				t.Errorf("got %+v and the error %v", got, err)
			}
			return
		}
		// The address must have the signature of the badge that Parse returned.
		again := s.Path(got.BadgeKey, got.Tag, got.Format, got.Late)
		if tail := strings.SplitN(again, "/", 4)[3]; !strings.Contains(address, tail[:32]) {
			t.Errorf("%q does not have the signature of %+v", address, got)
		}
		back, err := s.Parse(again)
		if err != nil || back != got {
			t.Errorf("%s: got %+v, %v, want %+v", again, back, err, got)
		}
	})
}

func FuzzParseCheckPath(f *testing.F) {
	for _, key := range awkward {
		f.Add(badges.CheckPath(key, badges.SVG, true))
	}
	f.Add("/b/2/a/b.svg")
	f.Fuzz(func(t *testing.T, address string) {
		ref, err := badges.ParseCheckPath(address)
		if err != nil {
			if err != badges.ErrNotFound {
				t.Errorf("got the error %v", err)
			}
			return
		}
		again := badges.CheckPath(ref.BadgeKey, ref.Format, ref.Late)
		if got, err := badges.ParseCheckPath(again); err != nil || got != ref {
			t.Errorf("%q: %q is read as %+v, %v, want %+v", address, again, got, err, ref)
		}
	})
}

func ExampleSigner() {
	signer, err := badges.NewSigner([]byte("a secret of 32 random bytes here"))
	if err != nil {
		panic(err)
	}
	address := signer.Path("k3y", "database/nightly", badges.SVG, false)
	fmt.Println(address)

	u, _ := url.Parse("https://example.org" + address)
	ref, err := signer.Parse(u.EscapedPath())
	fmt.Printf("%+v %v\n", ref, err)

	_, err = signer.Parse("/badge/k3y/00000000000000000000000000000000/guess.svg")
	fmt.Println(err)
	// Output:
	// /badge/k3y/5a5a14485145de09d1eb85dcee74a5d4-2/database%2Fnightly.svg
	// {BadgeKey:k3y Tag:database/nightly Format:svg Late:false} <nil>
	// badges: not found
}

func ExampleCheckPath() {
	fmt.Println(badges.CheckPath("5f3d9c0a71be", badges.SVG, true))
	ref, err := badges.ParseCheckPath("/b/2/5f3d9c0a71be.json")
	fmt.Println(ref.BadgeKey, ref.Format, ref.Late, err)
	// Output:
	// /b/3/5f3d9c0a71be.svg
	// 5f3d9c0a71be json false <nil>
}

func BenchmarkSignerParse(b *testing.B) {
	s := signer(b, "s")
	address := s.Path("k3y", "database/nightly", badges.SVG, true)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Parse(address); err != nil {
			b.Fatal(err)
		}
	}
}
