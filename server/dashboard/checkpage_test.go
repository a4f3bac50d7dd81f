package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

func TestCheckPage(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup"), Desc: new("Copies all.\n<b>Everything</b>"), Tags: []string{"prod"}, Schedule: new("0 13 * * *"), Grace: new(20 * time.Minute)})
	path, found := strings.CutPrefix(dashboard.CheckURL("https://rollcall.example.org/", c), "https://rollcall.example.org")
	if !found {
		t.Fatalf("the page is at %s", path)
	}
	editor, reader := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadOnly)
	editor.get(path).is(http.StatusOK).has("No pings yet", c.ID.String(), "crontab", "0 13 * * *  run=", "rollcall run --ping-url", "Kubernetes", "&lt;b&gt;Everything")
	editor.get(path).has("/ping/"+c.ID.String()+"</code>", `data-copy="url-0"`, `data-copy="way-0-0"`, `data-copy="way-0-1"`, `<details name="way" open>`).
		hasNo("Slug URL")
	slugged := s.create(checks.Spec{Name: new("slugged"), Slug: new("nightly")})
	editor.get("/checks/"+slugged.UniqueKey()).has("/ping/"+s.project.PingKey+"/nightly</code>", `data-copy="url-1"`)
	reader.get("/checks/"+slugged.UniqueKey()).hasNo(s.project.PingKey, slugged.ID.String())
	for _, kind := range []pings.Kind{pings.Start, pings.Success, pings.Start, pings.Failure} {
		if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: kind, Body: []byte("\x1b[31m<i>" + string(kind) + "</i>"), Scheme: "https", Method: "POST", RemoteAddr: "10.0.4.7", UserAgent: "curl/8 <u>"}); err != nil {
			t.Fatal(err)
		}
		s.advance(41 * time.Minute)
	}
	editor.get(path).has("<strong>Down</strong>", "Median <b>41 min</b>", "a run timed out", "from 10.0.4.7", "curl/8 &lt;u&gt;", "1 down").hasNo("<i>fail", "<u>")
	editor.get(path+"?kind=failure").has(`id="p-3"`, ">3–4<").hasNo(`id="p-1"`)
	editor.get(path + "?before=3").has(`id="p-1"`).hasNo(`id="p-3"`)
	editor.get(path + "?kind=nonsense&before=x").has(`id="p-1"`)

	// A viewer who may only look must not learn what takes pings.
	for _, page := range []string{path, path + "/pings/4", s.path("")} {
		reader.get(page).is(http.StatusOK).hasNo(c.ID.String(), s.project.PingKey, "rollcall run", ">Edit<", "/ping/")
	}
	editor.get("/checks/" + c.ID.String()).is(http.StatusOK)
	s.browser().get(path).is(http.StatusSeeOther)
	editor.get("/checks/" + strings.Repeat("0", 40)).is(http.StatusNotFound)
	editor.get("/checks/x").is(http.StatusNotFound)
}

// TestLastFailure shows the end of a failed run's output, and compares it with the last success's.
func TestLastFailure(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("export")})
	path := "/checks/" + c.UniqueKey()
	ping := func(signal pings.Signal, took time.Duration) {
		t.Helper()
		for _, signal := range []pings.Signal{{Kind: pings.Start}, signal} {
			if _, err := s.mon.Ping(t.Context(), c.ID, signal); err != nil {
				t.Fatal(err)
			}
			s.advance(took)
		}
	}
	b := s.signedIn(s.keys.ReadOnly)
	success := pings.Signal{Body: []byte("03:00:01 exporting\nwrote <b>ledger</b>\n")}
	for range 3 {
		ping(success, 12*time.Minute)
	}
	b.get(path).is(http.StatusOK).has(`<section id="output" data-live>`).hasNo("Last failure")
	lines := "03:00:09 exporting\n" + strings.Repeat("\x1b[31mrow\x1b[0m\n", 18) + "disk <i>full</i>\n\n"
	ping(pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte(lines)}, 4*time.Minute)
	b.get(path).is(http.StatusOK).has("Last failure", "exit status 2", "took <b>4 min</b>, usually 12 min", "Last 15 of 20 lines", `href="`+path+`/pings/8"`,
		`<span class="f1">row</span>`, "disk &lt;i&gt;full", "?compare=last#output", "<q>disk &lt;i&gt;full").hasNo("03:00:09", "<i>full")
	b.get(path+"?compare=last").is(http.StatusOK).has("<ins>disk &lt;i&gt;full", "<del>wrote &lt;b&gt;ledger", "<span>03:00:09 exporting</span>", "<span>03:00:01 exporting</span>").
		hasNo("?compare=last", "Last 15")
	ping(pings.Signal{Kind: pings.Failure}, time.Minute)
	b.get(path).has("Last failure", "The job sent no output").hasNo("?compare=last")
	ping(pings.Signal{Kind: pings.Failure, Body: []byte(strings.Repeat("\xff\x00", 100))}, time.Minute)
	b.get(path).has("The output is not text").hasNo("?compare=last")
	mail := "Subject: Cron\r\nContent-Transfer-Encoding: base64\r\n\r\nYmFrY3VwOiBub3QgZm91bmQK\r\n"
	ping(pings.Signal{Kind: pings.Failure, Scheme: "email", Mail: &pings.Mail{}, Body: []byte(mail)}, time.Minute)
	b.get(path).has(`aria-label="End of the output">bakcup: not found</pre>`, "Whole output").hasNo("Last 1 of")
	ping(success, time.Minute)
	b.get(path).hasNo("Last failure")
}

func TestBodyPage(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey() + "/pings/"
	mail := "Subject: Backup =?utf-8?q?fertig_=C3=BC?=\r\nContent-Type: text/html\r\n\r\n<p>All <b>done</b><script>alert(1)</script></p>"
	for _, signal := range []pings.Signal{
		{Scheme: "http", Method: "POST", Body: []byte("\x1b[1;31mfailed\x1b[0m <script>alert(1)</script>")},
		pings.FromMail("", []byte(mail), &pings.Mail{}),
		{Scheme: "http", Method: "POST", Body: []byte(strings.Repeat("\x00\xff\x01", 500))},
		{Scheme: "http", Method: "POST", Body: []byte(strings.Repeat("0123456789", 30_000))},
		{},
	} {
		if _, err := s.mon.Ping(t.Context(), c.ID, signal); err != nil {
			t.Fatal(err)
		}
	}
	b := s.signedIn(s.keys.ReadOnly)
	b.get(path+"1").is(http.StatusOK).has(`<span class="f1 bold">failed</span>`, "&lt;script&gt;").hasNo("<script>alert", "Previous")
	b.get(path+"2").has("fertig ü", "All done", "Previous", "Next").hasNo("<script>alert")
	b.get(path + "3").has("Not text").hasNo("<pre")
	b.get(path+"4").has("100 kB are left out here; the download has them.", "6789</pre>")
	b.get(path + "5").has("This ping has no body")
	cut := pings.Signal{Kind: pings.Failure, Scheme: "http", Method: "POST", Body: []byte("\xe9 begins\nfatal error: n|nt\nSt\xf6rung\n"), BodyCut: 1234}
	if _, err := s.mon.Ping(t.Context(), c.ID, cut); err != nil {
		t.Fatal(err)
	}
	b.get(path+"6").has("é begins\nfatal er</pre>", "1 kB were left out here when the ping arrived.", "Störung\n</pre>", "35 bytes, 1 kB left out")
	b.get("/checks/"+c.UniqueKey()).has("[1234 bytes were left out here]", "<q>Störung</q>", "Stored output, 35 bytes, 1 kB left out</a>").hasNo("<q>fatal")
	raw := b.get(path + "2/raw").is(http.StatusOK)
	if raw.body != mail {
		t.Errorf("downloaded %q", raw.body)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="ping-2.eml"`, "Content-Security-Policy": "default-src 'none'; sandbox"} {
		if got := raw.header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, missing := range []string{"7", "0", "-1", "x", "5/raw", "99999999999999999999"} {
		b.get(path + missing).is(http.StatusNotFound)
	}
}
