package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

var errNoBrowser = errors.New("there is no Chromium to test with (apt-get install chromium, or name the program in ROLLCALL_TEST_CHROMIUM)")

// theBrowser is the browser of this process. The first test that needs it starts it, and Close ends it.
var theBrowser browser

type browser struct {
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	err    error
}

// Main runs the tests of a package and ends the browser if they started one. Call it from TestMain.
func Main(m *testing.M) {
	status := m.Run()
	Close()
	os.Exit(status)
}

// Close ends the browser, for a TestMain that does not call [Main].
func Close() {
	theBrowser.mu.Lock()
	defer theBrowser.mu.Unlock()
	if theBrowser.cancel != nil {
		theBrowser.cancel()
	}
}

// Find returns the path of Chromium. The error says how to get it.
func Find() (string, error) {
	if path := os.Getenv("ROLLCALL_TEST_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoBrowser
}

// start returns the context of the running browser.
func (b *browser) start() (context.Context, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil || b.err != nil {
		return b.ctx, b.err
	}
	var path string
	if path, b.err = Find(); b.err != nil {
		return nil, b.err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, // root and containers have none, and the tests load their own pages alone
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	b.cancel = func() {
		_ = chromedp.Cancel(ctx) // closes the browser and waits; stop kills it if that fails
		end()
		stop()
	}
	if b.err = chromedp.Do(ctx); b.err != nil {
		b.cancel()
		return nil, b.err
	}
	b.ctx = ctx
	return ctx, nil
}

// skip skips the test if a tool is missing. Everything else is a failure, as is a missing tool if nothing may be skipped.
func skip(t testing.TB, err error) {
	t.Helper()
	missing := errors.Is(err, errNoBrowser) || errors.Is(err, errNoAxe)
	if missing && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// Brightness returns how much green, 0 to 255, is in a color of the root element: of "color" or "backgroundColor".
func (p *Page) Brightness(property string) int {
	p.t.Helper()
	return Eval[int](p, "Number(getComputedStyle(document.documentElement)."+property+".match(/\\d+/g)[1])")
}

// InView reports whether the first element that matches a selector is whole in the window, and nothing covers its corners.
func (p *Page) InView(selector string) bool {
	p.t.Helper()
	return Eval[bool](p, `(e => {
		const r = e?.getBoundingClientRect()
		return Boolean(r?.width) && r.top >= 0 && r.bottom <= innerHeight && [r.top + 2, r.bottom - 2].every(y => e.contains(document.elementFromPoint(r.left + 4, y)))
	})(document.querySelector(`+Quote(selector)+`))`)
}

// Fits fails the test if the page scrolls horizontally, and names elements that reach over the edge.
func (p *Page) Fits() {
	p.t.Helper()
	over := Eval[string](p, `(() => {
		const root = document.scrollingElement
		if (root.scrollWidth <= innerWidth) return ''
		const wide = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 0.5)
		return root.scrollWidth + ' > ' + innerWidth + ': ' + wide.slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join('\n')
	})()`)
	if over != "" {
		p.t.Errorf("%s scrolls horizontally: %s", p.Path(), over)
	}
}

// Targets fails the test for each control that is smaller than 24 by 24 pixels, the label of a box included. Links within text
// are as high as the text.
func (p *Page) Targets() {
	p.t.Helper()
	small := Eval[[]string](p, `(() => {
		const box = e => {
			const all = e.matches('[type=checkbox], [type=radio]') && e.labels[0] ? [e, e.labels[0]] : [e]
			const rects = all.flatMap(e => [...e.getClientRects()])
			return [Math.max(...rects.map(r => r.right)) - Math.min(...rects.map(r => r.left)), Math.max(...rects.map(r => r.bottom)) - Math.min(...rects.map(r => r.top))]
		}
		const inText = e => e.matches('a, button.link') && getComputedStyle(e).display == 'inline' && e.parentElement.textContent.trim() != e.textContent.trim()
		return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
			.filter(e => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && !e.matches('.skip') && !e.closest('svg') && !inText(e))
			.map(e => [e, ...box(e)]).filter(([, w, h]) => w < 23.5 || h < 23.5)
			.map(([e, w, h]) => w.toFixed() + ' x ' + h.toFixed() + ': ' + e.outerHTML.slice(0, 110))
	})()`)
	if len(small) > 0 {
		p.t.Errorf("%s has small targets:\n%s", p.Path(), strings.Join(small, "\n"))
	}
}
