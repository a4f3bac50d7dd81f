package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
)

const company = `projects:
- name: backups
  plan: paid
  channels:
  - {name: everyone, kind: group, settings: {channels: "ops,pager"}}
  - {name: ops, kind: email, settings: {to: {env: OPS}}}
  - name: pager
    kind: webhook
    settings: {url_down: "https://example.org/down", headers_down: {env: TOKEN}}
  checks:
  - {slug: nightly, schedule: 0 3 * * *, tz: Europe/Riga, channels: everyone}
  - {slug: hourly, timeout: 1h, channels: "ops,pager"}
  status_pages:
  - {slug: backups, title: Our backups, description: "Two\nlines", tags: [db, web]}
- name: shop
  account: shops
  plan: free
  channels: []
  checks: [{slug: orders}]
  status_pages: []
`

// secrets are the values of the environment variables that the files name.
var secrets = map[string]string{"TOKEN": "Authorization: s3cret", "OTHER": "Authorization: n3xt", "OPS": "s3cret@example.org"}

func mustParse(t *testing.T, text string) declare.Document {
	t.Helper()
	doc, err := declare.Parse([]byte(text), &declare.Config{
		Name: "f.yaml", Types: standard.Kinds(), Env: func(name string) (string, error) { return secrets[name], nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// planOn plans a file, and applyTo applies it.
func planOn(t *testing.T, to declare.Target, text string, options declare.Options) declare.Plan {
	t.Helper()
	p, err := declare.NewPlan(t.Context(), to, mustParse(t, text), &options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func applyTo(t *testing.T, to declare.Target, text string, options declare.Options) string {
	t.Helper()
	p := planOn(t, to, text, options)
	if _, err := p.Apply(t.Context(), to, nil); err != nil {
		t.Fatal(err)
	}
	return p.String()
}

// admin returns the target of a key of the installation.
func adminOf(t *testing.T, mon *monitor.Monitor, url string, config *client.Config) declare.Target {
	t.Helper()
	key, _, err := mon.Installation().CreateKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(url, key, config)
	if err != nil {
		t.Fatal(err)
	}
	return declare.OnProjects(c.Projects())
}

// A key of the installation does what a monitor in this process does: it makes everything from nothing, changes and prunes
// it, and then has nothing left to do.
func TestInstallation(t *testing.T) {
	mon, web := startEmpty(t)
	far, local := adminOf(t, mon, web.URL, nil), declare.OnProjects(mon.Projects())
	prune := declare.Options{Prune: true}
	for _, step := range []struct {
		name, file string
		changes    [3]int
	}{
		{"from nothing", company, [3]int{9, 0, 0}},
		{"again", company, [3]int{}},
		{"changed", strings.NewReplacer("channels: everyone", "channels: pager", "0 3 * * *", "0 4 * * *", "title: Our", "title: All", `"ops,pager"}}`, "pager}}",
			"- {slug: hourly, timeout: 1h,", "- {slug: daily,", "{env: OPS}", "ops@example.org").Replace(company), [3]int{1, 4, 1}},
		{"storms", "projects: [{name: backups, storm_checks: 3}]", [3]int{0, 1, 0}},
		{"pruned", "projects: [{name: backups, channels: [], checks: [], status_pages: []}, {name: shop, channels: [], checks: []}]", [3]int{0, 0, 7}},
	} {
		p, here := planOn(t, far, step.file, prune), planOn(t, local, step.file, prune)
		equal(t, step.name+": the plan of a server (+) and of a monitor (-)", p.String(), here.String())
		created, changed, deleted := p.Count()
		equal(t, step.name, [3]int{created, changed, deleted}, step.changes)
		made, err := p.Apply(t.Context(), far, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, project := range made {
			_, err := mon.Projects().Authenticate(t.Context(), project.Keys.ReadWrite)
			equal(t, "a key of "+project.Project.Name, err, error(nil))
		}
		for name, place := range map[string]declare.Target{"server": far, "in process": local} {
			equal(t, step.name+": left to do on the "+name, planOn(t, place, step.file, prune).String(), "")
		}
	}
}

// The state of a server is that of its monitor, without the values that nobody may see.
func TestNothingIsShown(t *testing.T) {
	mon, web := startEmpty(t)
	far := adminOf(t, mon, web.URL, nil)
	applyTo(t, far, company, declare.Options{})
	got, err := far.Read(t.Context(), "backups")
	if err != nil {
		t.Fatal(err)
	}
	want, err := declare.OnProjects(mon.Projects()).Read(t.Context(), "backups")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "source", want.Channels[0].Sources, map[string]string{"to": "$OPS"})
	text := func(state declare.State) string {
		var b strings.Builder
		if err := (declare.Document{Projects: []declare.Project{declare.Export(state)}}).Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	equal(t, "export", text(got), text(want))
	equal(t, "applied export", applyTo(t, far, text(got), declare.Options{Prune: true}), "")
	for i, hidden := range [][]string{{"to"}, {"headers_down", "url_down"}, {}} {
		c := got.Channels[i]
		equal(t, "hidden of "+c.Name, c.Hidden, hidden)
		equal(t, "shown of "+c.Name, len(c.Settings), len(want.Channels[i].Settings)-len(hidden))
		for _, name := range c.Hidden {
			c.Settings[name] = want.Channels[i].Settings[name]
		}
		equal(t, c.Name, c.Settings, want.Channels[i].Settings)
	}
}

// A plan cannot compare secrets. It adds and removes them, keeps what the file leaves out, says what it did not compare, and
// sends it when asked to.
func TestServerSecrets(t *testing.T) {
	mon, web := startEmpty(t)
	far := adminOf(t, mon, web.URL, nil)
	file := func(settings string) string {
		return "projects: [{name: p, channels: [{name: hook, kind: webhook, settings: {" + settings + "}}]}]"
	}
	stored := func() map[string]string {
		state, err := declare.OnProjects(mon.Projects()).Read(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		return state.Channels[0].Settings
	}
	const change = "project \"p\"\n  ~ channel \"hook\"\n      "
	const url = `url_down: "https://example.org/x"`
	applyTo(t, far, file(url), declare.Options{})
	equal(t, "added", applyTo(t, far, file(url+", headers_down: {env: TOKEN}"), declare.Options{}), change+"+ headers_down: ($TOKEN)\n")
	equal(t, "the secret", stored()["headers_down"], "Authorization: s3cret")

	other := file(url + ", headers_down: {env: OTHER}")
	p := planOn(t, far, other, declare.Options{})
	equal(t, "not compared", p.String(), "")
	equal(t, "notes", p.Notes, []string{`the API shows no secrets, so the plan does not compare headers_down and url_down of the channel "hook"`})
	equal(t, "kept", applyTo(t, far, file(url+", body_down: x"), declare.Options{}), change+"+ body_down: \"x\"\n")
	equal(t, "the secret", stored()["headers_down"], "Authorization: s3cret")
	equal(t, "sent along", applyTo(t, far, other, declare.Options{}), change+"- body_down: (hidden)\n")
	equal(t, "the secret", stored()["headers_down"], "Authorization: n3xt")
	equal(t, "sent again", applyTo(t, far, file(url+", headers_down: {env: TOKEN}"), declare.Options{ResendSecrets: true}),
		change+"~ headers_down: (hidden) -> ($TOKEN)\n      ~ url_down: (hidden) -> (secret)\n")
	equal(t, "the secret", stored()["headers_down"], "Authorization: s3cret")
	equal(t, "removed", applyTo(t, far, file(url+`, headers_down: ""`), declare.Options{}), change+"- headers_down: (hidden)\n")
	equal(t, "the secret", stored()["headers_down"], "")

	applyTo(t, far, file(url+", headers_down: {env: TOKEN}"), declare.Options{})
	_, err := declare.NewPlan(t.Context(), far, mustParse(t, file(`url_up: "https://example.net/x"`)), nil)
	if err == nil || !strings.Contains(err.Error(), "webhook: url_down must be given again, because url_up changes") {
		t.Errorf("a kept secret for another receiver: %v", err)
	}
}

// An admin key of a project administers that project and no other.
func TestAdminOfProject(t *testing.T) {
	mon, web := startEmpty(t)
	project, _, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := mon.Project(project.ID).CreateKey(t.Context(), checks.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(web.URL, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	far := declare.OnProjects(c.Projects())
	const lists = "channels: [{name: ops, kind: email, settings: {to: a@example.org}}]\nchecks: [{slug: a, channels: ops}]\nstatus_pages: [{slug: up, title: Up}]"
	if text := applyTo(t, far, lists, declare.Options{Prune: true}); !strings.HasPrefix(text, "project \"jobs\"\n  + channel \"ops\"\n") {
		t.Error(text)
	}
	equal(t, "by name", applyTo(t, far, "projects: [{name: jobs, status_pages: []}]", declare.Options{Prune: true}), "project \"jobs\"\n  - status page \"up\"\n")
	_, err = declare.NewPlan(t.Context(), far, mustParse(t, "projects: [{name: other, checks: []}]"), nil)
	const want = `client: get project "other": unauthorized: the API key is one of the project "jobs"; use a key of the other one or of the installation`
	if err == nil || err.Error() != want || !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("another project: %v", err)
	}
	unknown, err := declare.Parse([]byte("projects: [{name: jobs, channels: [{name: x, kind: shell, settings: {cmd_down: x}}]}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := declare.NewPlan(t.Context(), far, unknown, nil); err == nil {
		t.Error("an unknown kind was planned")
	}
}

// A server that dies after any change, before or after it has taken effect, leaves nothing that applying the file again does
// not finish.
func TestServerDies(t *testing.T) {
	for _, before := range []bool{true, false} {
		for dies := 1; ; dies++ {
			mon, web := startEmpty(t)
			var changes atomic.Int64
			dying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				last := r.Method != http.MethodGet && changes.Add(1) >= int64(dies)
				if last && before {
					panic(http.ErrAbortHandler)
				}
				if last { // its answer is lost
					web.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				web.Config.Handler.ServeHTTP(w, r)
			}))
			failing := adminOf(t, mon, dying.URL, &client.Config{Tries: 1})
			_, err := planOn(t, failing, company, declare.Options{}).Apply(t.Context(), failing, nil)
			dying.Close()
			if err == nil {
				break
			}
			if !errors.Is(err, checks.ErrUnavailable) {
				t.Fatalf("dies at change %d: %v", dies, err)
			}
			far := adminOf(t, mon, web.URL, nil)
			applyTo(t, far, company, declare.Options{})
			equal(t, "left to do", planOn(t, declare.OnProjects(mon.Projects()), company, declare.Options{Prune: true}).String(), "")
			if dies > 20 {
				t.Fatal("no end")
			}
		}
	}
}

// Several programs that apply a file at once create everything once. One that meets another's project or page fails, and has
// nothing to do when it tries again.
func TestConcurrent(t *testing.T) {
	mon, web := startEmpty(t)
	var group sync.WaitGroup
	for range 4 {
		far := adminOf(t, mon, web.URL, nil)
		group.Go(func() {
			for {
				p, err := declare.NewPlan(t.Context(), far, mustParse(t, company), nil)
				if err == nil {
					_, err = p.Apply(t.Context(), far, nil)
				}
				if err == nil {
					return
				}
				if !errors.Is(err, checks.ErrExists) {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	equal(t, "left to do", planOn(t, declare.OnProjects(mon.Projects()), company, declare.Options{Prune: true}).String(), "")
	projects, err := mon.Projects().List(t.Context())
	if err != nil || len(projects) != 2 {
		t.Error(projects, err)
	}
	list, err := mon.Project(projects[0].ID).Channels(t.Context())
	if err != nil || len(list) != 3 {
		t.Error(list, err)
	}
}
