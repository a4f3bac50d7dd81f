package check_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestCheckPage(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Desc: new("Copies all.\n<b>Everything</b>"), Tags: []string{"prod"}, Schedule: new("0 13 * * *"), Grace: new(20 * time.Minute)})
	path, found := strings.CutPrefix(dashboard.CheckURL("https://rollcall.example.org/", c), "https://rollcall.example.org")
	if !found {
		t.Fatalf("the page is at %s", path)
	}
	editor, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	editor.Get(path).Is(http.StatusOK).Has("No pings yet", c.ID.String(), "crontab", "0 13 * * *  r=$(", " run --ping-url", "Kubernetes", "&lt;b&gt;Everything")
	editor.Get(path).Has("/ping/"+c.ID.String()+"</code>", `data-copy="url-0"`, `data-copy="way-0-0"`, `data-copy="way-0-1"`, `<input type="radio" name="way" id="w-0" checked>`, "Send a test ping").
		HasNo("Slug URL")
	tried := s.Create(checks.Spec{Name: new("tried")})
	for _, want := range []string{"Test ping sent. The check is up.", "No test ping was sent"} {
		editor.Post("/checks/"+tried.UniqueKey()+"/test", nil).Is(http.StatusSeeOther)
		editor.Get("/checks/"+tried.UniqueKey()).Has(want, "Up for").HasNo("Send a test ping", `id="p-2"`)
	}
	reader.Post("/checks/"+tried.UniqueKey()+"/test", nil).Is(http.StatusForbidden)
	slugged := s.Create(checks.Spec{Name: new("slugged"), Slug: new("nightly")})
	editor.Get("/checks/"+slugged.UniqueKey()).Has("/ping/"+s.Project.PingKey+"/nightly</code>", `data-copy="url-1"`)
	reader.Get("/checks/"+slugged.UniqueKey()).HasNo(s.Project.PingKey, slugged.ID.String())
	for _, kind := range []pings.Kind{pings.Start, pings.Success, pings.Start, pings.Failure} {
		s.Ping(c, pings.Signal{Kind: kind, Body: []byte("\x1b[31m<i>" + string(kind) + "</i>"), Scheme: "https", Method: "POST", RemoteAddr: "10.0.4.7", UserAgent: "curl/8 <u>"})
		s.Advance(41 * time.Minute)
	}
	editor.Get(path).Has("<strong>Down</strong>", "Median <b>41 min</b>", "a run timed out", "from 10.0.4.7", "curl/8 &lt;u&gt;", "1 down").HasNo("<i>fail", "<u>")
	editor.Get(path+"?kind=failure").Has(`id="p-3"`, ">3–4<").HasNo(`id="p-1"`)
	editor.Get(path + "?before=3").Has(`id="p-1"`).HasNo(`id="p-3"`)
	editor.Get(path + "?kind=nonsense&before=x").Has(`id="p-1"`)

	// A viewer who may only look must not learn what takes pings.
	for _, page := range []string{path, path + "/pings/4", s.Path("")} {
		reader.Get(page).Is(http.StatusOK).HasNo(c.ID.String(), s.Project.PingKey, "rollcall run", ">Edit<", "/ping/")
	}
	editor.Get("/checks/" + c.ID.String()).Is(http.StatusOK)
	s.Browser().Get(path).Is(http.StatusSeeOther)
	editor.Get("/checks/" + strings.Repeat("0", 40)).Is(http.StatusNotFound)
	editor.Get("/checks/x").Is(http.StatusNotFound)
}

// TestEventsAlike: deliveries of one alert that ended alike stand in one line of the history.
func TestEventsAlike(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor.Channels = pagetest.WebhooksBy(channels.NotifierFunc(func(_ context.Context, c channels.Channel, _ channels.Notification) error {
			if c.Name == "gone" {
				return channels.Permanent(errors.New("410 Gone"))
			}
			return nil
		}))
	})
	for _, name := range []string{"chat", "gone", "ops <b>"} {
		s.Channel(channels.Webhook, name, map[string]string{"url_down": "https://example.org/"})
	}
	c := s.Create(checks.Spec{Channels: new("*")})
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	s.Tick()
	page := s.SignedIn(s.Keys.ReadOnly).Get("/checks/" + c.UniqueKey()).Is(http.StatusOK).Has("<b>gone</b> not notified: gave up after 1 attempt: 410 Gone")
	if strings.Count(page.Body, "</b> notified") != 1 || !strings.Contains(page.Body, "chat and ops &lt;b&gt;</b> notified") && !strings.Contains(page.Body, "ops &lt;b&gt; and chat</b> notified") {
		t.Errorf("the two that were notified do not stand together:\n%s", page.Body)
	}
}

// TestKin shows what a check follows and what follows it, and no ping address to those who may only look.
func TestKin(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	dump := s.Create(checks.Spec{Name: new("Dump <b>"), Slug: new("dump"), Channels: new("*")})
	nameless := s.Create(checks.Spec{})
	upload := s.Create(checks.Spec{Name: new("Upload"), Channels: new("*"), After: new("dump," + nameless.ID.String())})
	quietly := s.Create(checks.Spec{Name: new("Quietly"), RecordOnly: new(true)})
	s.Ping(dump, pings.Signal{Kind: pings.Failure})
	s.Ping(upload, pings.Signal{})
	editor, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	for _, b := range []*pagetest.Browser{editor, reader} {
		page := b.Get("/checks/"+upload.UniqueKey()).Is(http.StatusOK).Has("Waits for", `href="/checks/`+dump.UniqueKey()+`"`, "Dump &lt;b&gt;", nameless.ID.String()[:8], "because Dump &lt;b&gt; is down.", " alerts nobody, so no alert waits for it.").
			HasNo("for this", "record-only", "Dump &lt;b&gt; alerts nobody")
		pagetest.WellFormed(t, page.Body)
		b.Get("/checks/"+dump.UniqueKey()).Has(" waits for this", `href="/checks/`+upload.UniqueKey()+`"`).HasNo("Waits for")
		b.Get("/checks/"+quietly.UniqueKey()).Has("<b>record-only</b>", "Never alerts: record-only.", "no one is notified: record-only").HasNo("Waits for", "for this", `class="after down"`)
		b.Get(s.Path("rehearsal")).Has("<h2>Record only", "Quietly")
		b.Get(s.Path("?all=1")).Has("<span>record-only</span>")
		b.Get(s.Path("board?all=1")).Has("after dump", "record-only · ", "After dump")
	}
	s.Ping(upload, pings.Signal{Kind: pings.Failure})
	s.Tick()
	editor.Get("/checks/" + upload.UniqueKey()).Has("waiting because Dump &lt;b&gt; is down</li>").HasNo("is down or late")
	if _, err := s.Mon.Project(s.Project.ID).Delete(t.Context(), nameless.ID); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/checks/" + upload.UniqueKey(), s.Path("board?all=1"), s.Path("history?kind=changes"), s.Path("?all=1")} {
		reader.Get(path).Is(http.StatusOK).HasNo(nameless.ID.String())
	}
	editor.Get("/checks/"+upload.UniqueKey()).Has("<s title=", nameless.UniqueKey(), "which is not one check of this project")
}

// TestLastFailure shows the end of a failed run's output, and compares it with the last success's.
func TestLastFailure(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("export")})
	path := "/checks/" + c.UniqueKey()
	ping := func(signal pings.Signal, took time.Duration) {
		t.Helper()
		for _, signal := range []pings.Signal{{Kind: pings.Start}, signal} {
			s.Ping(c, signal)
			s.Advance(took)
		}
	}
	b := s.SignedIn(s.Keys.ReadOnly)
	success := pings.Signal{Body: []byte("03:00:01 exporting\nwrote <b>ledger</b>\n")}
	for range 3 {
		ping(success, 12*time.Minute)
	}
	b.Get(path).Is(http.StatusOK).Has(`<section id="output" data-live>`).HasNo("Last failure")
	lines := "03:00:09 exporting\n" + strings.Repeat("\x1b[31mrow\x1b[0m\n", 18) + "disk <i>full</i>\n\n"
	ping(pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte(lines)}, 4*time.Minute)
	b.Get(path).Is(http.StatusOK).Has("Last failure", "exit status 2", "took <b>4 min</b>, usually 12 min", "Last 15 of 20 lines", `href="`+path+`/pings/8"`,
		"row\nrow\n", "<mark>disk &lt;i&gt;full", "<q>disk &lt;i&gt;full", `<p class="mono">disk &lt;i&gt;full`, "Down for <time", ": exit status 2</h2>",
		"<ins>disk &lt;i&gt;full", "<del>wrote &lt;b&gt;ledger", "<span>03:00:09 exporting</span>").HasNo("03:00:01", "<i>full")
	b.Get(path+"/pings/8").Is(http.StatusOK).Has("Against the last success", "<ins>disk &lt;i&gt;full", "<del>wrote &lt;b&gt;ledger")
	b.Get(path + "/pings/6").Is(http.StatusOK).HasNo("Against")
	ping(pings.Signal{Kind: pings.Failure}, time.Minute)
	b.Get(path).Has("Last failure", "The job sent no output").HasNo("Against")
	ping(pings.Signal{Kind: pings.Failure, Body: []byte(strings.Repeat("\xff\x00", 100))}, time.Minute)
	b.Get(path).Has("The output is not text").HasNo("Against")
	mail := "Subject: Cron\r\nContent-Transfer-Encoding: base64\r\n\r\nYmFrY3VwOiBub3QgZm91bmQK\r\n"
	ping(pings.Signal{Kind: pings.Failure, Scheme: "email", Mail: &pings.Mail{}, Body: []byte(mail)}, time.Minute)
	b.Get(path).Has(`aria-label="End of the output"><mark>bakcup: not found</mark></pre>`, "Whole output").HasNo("Last 1 of")
	ping(success, time.Minute)
	b.Get(path).HasNo("Last failure")
}

func TestBodyPage(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey() + "/pings/"
	mail := "Subject: Backup =?utf-8?q?fertig_=C3=BC?=\r\nContent-Type: text/html\r\n\r\n<p>All <b>done</b><script>alert(1)</script></p>"
	for _, signal := range []pings.Signal{
		{Scheme: "http", Method: "POST", Body: []byte("\x1b[1;31mfailed\x1b[0m <script>alert(1)</script>")},
		pings.FromMail("", []byte(mail), &pings.Mail{}),
		{Scheme: "http", Method: "POST", Body: []byte(strings.Repeat("\x00\xff\x01", 500))},
		{Scheme: "http", Method: "POST", Body: []byte(strings.Repeat("0123456789", 30_000))},
		{},
	} {
		s.Ping(c, signal)
	}
	b := s.SignedIn(s.Keys.ReadOnly)
	b.Get(path+"1").Is(http.StatusOK).Has("failed &lt;script&gt;").HasNo("<script>alert", "Previous")
	b.Get(path+"2").Has("fertig ü", "All done", "Previous", "Next").HasNo("<script>alert")
	b.Get(path + "3").Has("Not text").HasNo("<pre")
	b.Get(path+"4").Has("100 kB are left out here; the download has them.", "6789</pre>")
	b.Get(path + "5").Has("This ping has no body")
	cut := pings.Signal{Kind: pings.Failure, Scheme: "http", Method: "POST", Body: []byte("\xe9 begins\nfatal error: n|nt\nSt\xf6rung\n"), BodyCut: 1234}
	s.Ping(c, cut)
	b.Get(path+"6").Has("é begins\nfatal er</pre>", "1 kB were left out here when the ping arrived.", "Störung\n</pre>", "35 bytes, 1 kB left out")
	b.Get("/checks/"+c.UniqueKey()).Has("[1234 bytes were left out here]", "<q>Störung</q>", "Stored output, 35 bytes, 1 kB left out</a>").HasNo("<q>fatal")
	raw := b.Get(path + "2/raw").Is(http.StatusOK)
	if raw.Body != mail {
		t.Errorf("downloaded %q", raw.Body)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="ping-2.eml"`, "Content-Security-Policy": "default-src 'none'; sandbox"} {
		if got := raw.Header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, missing := range []string{"7", "0", "-1", "x", "5/raw", "99999999999999999999"} {
		b.Get(path + missing).Is(http.StatusNotFound)
	}
}

// bucket is object storage in memory.
type bucket struct{ sync.Map }

func (b *bucket) Put(_ context.Context, key string, body []byte) error {
	b.Store(key, body)
	return nil
}

func (b *bucket) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	body, _ := b.Load(key)
	return body.([]byte), nil
}

func (b *bucket) Remove(context.Context, []string) error { return nil }

// TestAlteredOutput: no page shows an output that object storage has altered.
func TestAlteredOutput(t *testing.T) {
	stored := &bucket{}
	s := pagetest.New(t, func(c *pagetest.Config) { c.Monitor.Bodies, c.Monitor.BodyThreshold = stored, 10 })
	c := s.Create(checks.Spec{Name: new("backup")})
	s.Ping(c, pings.Signal{Kind: pings.Failure, Body: []byte("error: no space left")})
	s.Tick()
	page, b := "/checks/"+c.UniqueKey(), s.SignedIn(s.Keys.ReadWrite)
	pages := []string{page, page + "/pings/1", page + "/pings/1/raw", s.Path("")}
	for _, path := range pages[:3] {
		b.Get(path).Is(http.StatusOK).Has("error: no space left")
	}
	stored.Range(func(key, _ any) bool { stored.Store(key, []byte("error: no such disk!")); return true })
	s.Advance(time.Minute)
	for _, path := range pages {
		answer := b.Get(path).HasNo("no such disk", "no space left")
		if status := map[bool]int{true: http.StatusBadGateway, false: http.StatusOK}[strings.Contains(path, "/pings/")]; answer.Status != status {
			t.Errorf("%s: status %d, want %d", path, answer.Status, status)
		}
	}
	b.Get(page).Has("The object storage returned something else than the job sent.")
	b.Get(page + "/pings/1").Has("Output altered")
}
