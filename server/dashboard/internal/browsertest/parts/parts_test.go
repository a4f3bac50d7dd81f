// Package parts_test has a page with every part that pages are made of, in all its states.
package parts_test

import (
	"embed"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

//go:embed templates/*.html
var templates embed.FS

// open serves the page with the frame, the style sheets and the templates of all pages, and returns its address and its path.
func open(t *testing.T) (address, path string) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(err)
	project, _, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "harbor"})
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	address = "http://" + listener.Addr().String()
	base, err := baseurl.Parse("BaseURL", address)
	must(err)
	site, err := ui.New(mon, base, ui.Config{MaxStreams: 20, Config: server.Config{Logger: slog.New(slog.DiscardHandler)}})
	must(err)
	site.Authorize = func(http.ResponseWriter, *http.Request) (ui.Access, error) {
		return ui.Access{Access: server.Access{Name: "ann", Projects: []server.ProjectAccess{{ProjectID: project.ID, Right: checks.Own}}}}, nil
	}
	site.AddTemplates(templates, nil)
	site.Look("GET /projects/{project}/parts", func(q *ui.Request) error {
		return q.Render("parts", "Parts", struct {
			Form  ui.Form
			Words []string
		}{form(), []string{"down", "late", "up", "new", "paused"}})
	})
	web := &http.Server{Handler: site}
	go func() { _ = web.Serve(listener) }()
	t.Cleanup(func() {
		site.Close()
		_ = web.Close()
	})
	return address, "/projects/" + project.ID.String() + "/parts"
}

// form has a field of each kind, some of them wrong.
func form() ui.Form {
	f := ui.Form{Title: "Not saved", Fields: []ui.Field{
		{Name: "plain", Label: "Plain", Value: "nightly-backup", Hint: "A hint says what the field takes."},
		{Name: "empty", Label: "Empty", Optional: true, Attrs: `placeholder="1 day"`},
		{Name: "wrong", Label: "Wrong", Value: "90", Hint: "Such as 90 min."},
		{Name: "secret", Label: "Secret", Secret: true},
		{Name: "date", Label: "Date", Type: "date"},
		{Name: "choice", Label: "Choice", Options: []ui.Choice{{Value: "1", Label: "One"}, {Value: "2", Label: "Another one"}}},
		{Name: "lines", Label: "Lines", Rows: 3, Value: "one\ntwo"},
		{Name: "off", Label: "Disabled", Value: "as it is", Attrs: "disabled"},
		{Name: "tick", Box: "A box", Hint: "What it does."},
		{Name: "ticked", Box: "A box that is ticked", Value: "on"},
	}}
	f.Wrong("wrong", "Wrong has no unit: write 90 min, 90 h or 90 days.")
	return f
}

// contrast lists the texts whose colour is too close to that behind them: below 4.5, or 3 for large ones. What is disabled may be pale.
const contrast = `(() => {
	const rgb = text => (text.match(/[\d.]+/g) ?? []).map(Number)
	const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length == 3 || c[3] == 1) return c } return [255, 255, 255] }
	const low = []
	for (const e of document.body.querySelectorAll('*')) {
		if (!e.checkVisibility({ visibilityProperty: true }) || e.closest('[disabled], .sr, .skip, svg') || ![...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim())) continue
		const style = getComputedStyle(e), pair = [light(rgb(style.color)), light(behind(e))].sort((a, b) => b - a)
		const ratio = (pair[0] + .05) / (pair[1] + .05), large = parseFloat(style.fontSize) >= 24 || parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700
		if (ratio < (large ? 3 : 4.5)) low.push(ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 100))
	}
	return low
})()`

// TestParts: in both themes, on a desktop and on phones, buttons and fields have one height, nothing overflows, targets are large
// enough and texts can be read. With ROLLCALL_TEST_PARTS=DIR it writes images of the page there.
func TestParts(t *testing.T) {
	address, path := open(t)
	page := browsertest.Open(t, address)
	for _, size := range []struct {
		name    string
		size    browsertest.Size
		control int // the height of a button and of a field of one line
	}{{"wide", browsertest.Wide, 32}, {"phone", browsertest.Size{Width: 375, Height: 812}, 44}, {"narrow", browsertest.Narrow, 44}} {
		for theme, dark := range map[string]bool{"light": false, "dark": true} {
			page.Resize(size.size)
			page.Dark(dark)
			page.Go(path)
			page.Fits()
			page.Targets()
			for _, low := range browsertest.Eval[[]string](page, contrast) {
				t.Errorf("%s, %s: contrast %s", size.name, theme, low)
			}
			for _, other := range browsertest.Eval[[]string](page, `[...document.querySelectorAll('main :is(.btn, input:not([type=checkbox], [type=radio]), select)')]
				.filter(e => e.offsetHeight && e.offsetHeight != `+strconv.Itoa(size.control)+`).map(e => e.offsetHeight + ': ' + e.outerHTML.slice(0, 100))`) {
				t.Errorf("%s, %s: a control of another height: %s", size.name, theme, other)
			}
			if dir := os.Getenv("ROLLCALL_TEST_PARTS"); dir != "" {
				page.Screenshot(filepath.Join(dir, "parts-"+size.name+"-"+theme+".png"))
			}
		}
	}
	page.Axe()
}
