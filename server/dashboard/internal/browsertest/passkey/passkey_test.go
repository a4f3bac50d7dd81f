package passkey_test

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/assets"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/people"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

const document = `<!DOCTYPE html><html lang="en"><title>Passkeys</title><link rel="icon" href="data:,"><script type="module" src="/passkey.js"></script>
<form id="add" hidden method="post" action="/add" data-passkey="create" data-options="/add/options"><input name="answer" type="hidden"><button>Add</button><p role="status"></p></form>
<form id="get" hidden method="post" action="/get" data-passkey="get" data-options="/get/options"><input name="answer" type="hidden"><button>Sign in</button><p role="status"></p></form>
<main>%s</main></html>`

// site is a server with one person, which knows the passkeys of that person.
type site struct {
	*testing.T
	url        string
	keys       *passkey.Keys
	who        people.Person
	kept       []byte // of the last options
	lastAnswer string
	answers    int
}

func newSite(t *testing.T) *site {
	s := &site{T: t, who: people.Person{ID: uuid.New(), Email: "ann@example.org", Name: "Ann"}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.url = strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
	var err error
	if s.keys, err = passkey.New(s.url); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result := ""
	switch r.URL.Path {
	case "/passkey.js":
		for _, f := range assets.Dashboard() {
			if f.Name == "passkey.js" {
				w.Header().Set("Content-Type", f.ContentType)
				_, _ = w.Write(f.Body)
			}
		}
		return
	case "/add/options", "/get/options":
		options, kept, err := s.keys.BeginAdd(s.who)
		if r.URL.Path == "/get/options" {
			options, kept, err = s.keys.BeginSignIn()
		}
		if err != nil {
			s.Error(err)
		}
		s.kept = kept
		_, _ = w.Write(options)
		return
	case "/add":
		added, err := s.keys.FinishAdd(s.who, s.kept, []byte(r.PostFormValue("answer")))
		if result = fmt.Sprint("added: ", err); err == nil {
			added.Name = "key"
			s.who.Passkeys = append(s.who.Passkeys, added)
		}
	case "/get":
		s.lastAnswer = r.PostFormValue("answer")
		result = fmt.Sprint("signed in: ", s.signIn(s.lastAnswer))
	}
	s.answers++
	_, _ = fmt.Fprintf(w, document, html.EscapeString(fmt.Sprint(s.answers, " ", result)))
}

// signIn ends a sign-in, and keeps the counter of the passkey.
func (s *site) signIn(answer string) error {
	who, used, err := s.keys.FinishSignIn(s.kept, []byte(answer), s.find)
	if err == nil && (who.ID != s.who.ID || used.Name != "key") {
		s.Errorf("%+v signed in with %+v", who, used)
	}
	for i, had := range s.who.Passkeys {
		if err == nil && string(had.ID) == string(used.ID) {
			s.who.Passkeys[i] = used
		}
	}
	return err
}

func (s *site) find(id []byte) (people.Person, error) {
	for _, key := range s.who.Passkeys {
		if string(key.ID) == string(id) {
			return s.who, nil
		}
	}
	return people.Person{}, checks.ErrNotFound
}

// TestPasskey adds a passkey in a browser, and signs in with it.
func TestPasskey(t *testing.T) {
	s := newSite(t)
	page := browsertest.Open(t, s.url)
	device := page.Authenticator()
	page.Go("/")
	click := func(form string) {
		page.Wait("document.querySelector('" + form + "').checkVisibility() && !document.querySelector('" + form + " button').disabled")
		browsertest.Eval[any](page, "document.querySelector('"+form+" button').click()")
	}
	click("#add")
	page.WaitText("main", "2 added: <nil>")
	click("#add")
	page.WaitText("#add", "already has one of your passkeys")
	click("#get")
	page.WaitText("main", "3 signed in: <nil>")
	click("#get")
	page.WaitText("main", "4 signed in: <nil>")

	// An answer counts for its request alone.
	if err := s.signIn(s.lastAnswer); !errors.Is(err, people.ErrCloned) {
		t.Errorf("an answer counts twice: %v", err)
	}
	var err error
	if _, s.kept, err = s.keys.BeginSignIn(); err != nil {
		t.Fatal(err)
	}
	if err := s.signIn(s.lastAnswer); !errors.Is(err, passkey.ErrRefused) {
		t.Errorf("an old answer counts: %v", err)
	}

	// Without a PIN, a finger or a face there is no sign-in.
	device.Verify(false)
	click("#get")
	page.WaitText("#get", "No passkey was used")
	device.Verify(true)

	// A copy of the passkey has an older counter.
	device.Rewind()
	click("#get")
	page.WaitText("main", people.ErrCloned.Error())

	// A passkey that was deleted here is nobody's.
	s.who.Passkeys = nil
	click("#get")
	page.WaitText("main", checks.ErrNotFound.Error())
}
