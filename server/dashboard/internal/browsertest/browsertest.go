// Package browsertest gives tests a real browser: a headless Chromium, in which each test has a page with cookies of its
// own.
//
//	func TestMain(m *testing.M) { browsertest.Main(m) }
//
//	func TestSignIn(t *testing.T) {
//		page := browsertest.Open(t, server.URL)
//		page.Go("/")
//		page.Type("input[name=key]", key)
//		page.Submit("button[type=submit]")
//		page.WaitText("h1", "Checks")
//	}
//
// A test fails if its page writes an error to the console, throws, violates its Content-Security-Policy, or requests
// anything from another host. [Page.Tolerate] names the messages that a test provokes. A failed test leaves a screenshot
// and says where.
//
// The browser is chromium, chromium-browser or google-chrome from PATH, or the program that the environment variable
// ROLLCALL_TEST_CHROMIUM names. Where it is missing, tests are skipped; with ROLLCALL_TEST_REQUIRE=all they fail instead.
// The same holds for axe-core; see [Page.Axe].
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds each step of a test. Only a failure reaches it: on a busy machine, pages wait long between refreshes.
const patience = 2 * time.Minute

// pause is the time between two looks at a page for which a test waits.
const pause = 15 * time.Millisecond

// Size is the size of a viewport in CSS pixels.
type Size struct{ Width, Height int64 }

// The sizes of a desktop and of the smallest phone that pages must fit.
var (
	Wide   = Size{1280, 900}
	Narrow = Size{320, 640}
)

// Page is a page of a browser. Its methods fail the test when they do not succeed within a minute. They must be called
// from the test's goroutine.
type Page struct {
	t    testing.TB
	base *url.URL
	ctx  context.Context

	features map[string]string // media features in force
	media    string            // "print", or "" for a screen

	mu       sync.Mutex
	problems []string
	tolerate []string
}

// Open opens an empty page until the test ends, [Wide] and light, in UTC, with cookies that no other page has. The paths that
// the test goes to are relative to base, and the page may load from that host alone.
func Open(t testing.TB, base string) *Page {
	t.Helper()
	root, err := theBrowser.start()
	if err != nil {
		skip(t, err)
	}
	p := &Page{t: t, features: map[string]string{"prefers-color-scheme": "light", "prefers-reduced-motion": "reduce"}}
	if p.base, err = url.Parse(base); err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	p.ctx, cancel = chromedp.NewContext(root, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.heard))
	t.Cleanup(func() {
		p.finish()
		cancel()
	})
	p.run("open a page", func(ctx context.Context) error {
		// The first call on the context opens the page, which lives as long as that context.
		_, err := chromedp.Call(p.ctx, log.Enable, struct{}{})
		if err == nil {
			_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
		}
		if err == nil { // a page is visible and has the focus, whatever other pages do
			_, err = chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		}
		return err
	})
	p.Resize(Wide)
	p.TimeZone("UTC")
	p.emulate()
	return p
}

// run takes a step that a context bounds, and fails the test with its error.
func (p *Page) run(what string, step func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := step(ctx); err != nil {
		p.t.Fatalf("%s: %v%s", what, err, p.heardSoFar())
	}
}

// Do runs actions of chromedp on the page.
func (p *Page) Do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.run(what, func(ctx context.Context) error { return chromedp.Do(ctx, actions...) })
}

// Resize changes the size of the viewport.
func (p *Page) Resize(s Size) {
	p.t.Helper()
	p.Do("resize", chromedp.EmulateViewport(s.Width, s.Height))
}

// Dark switches between the dark and the light color scheme of the system.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	p.features["prefers-color-scheme"] = map[bool]string{true: "dark", false: "light"}[dark]
	p.emulate()
}

// Print shows the page as it is printed, or as on a screen again.
func (p *Page) Print(on bool) {
	p.t.Helper()
	p.media = map[bool]string{true: "print"}[on]
	p.emulate()
}

func (p *Page) emulate() {
	p.t.Helper()
	var features []*emulation.MediaFeature
	for name, value := range p.features {
		features = append(features, &emulation.MediaFeature{Name: name, Value: value})
	}
	p.run("emulate media", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features, Media: p.media})
		return err
	})
}

// TimeZone sets the time zone of the viewer, by its IANA name. It holds from the next page on.
func (p *Page) TimeZone(name string) {
	p.t.Helper()
	p.run("set the time zone", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return err
	})
}

// NoScript turns the scripts of pages off. The methods of Page work all the same.
func (p *Page) NoScript() {
	p.t.Helper()
	p.run("turn scripts off", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

// BeforeScripts runs a script in each page that is opened from now on, before the scripts of the page.
func (p *Page) BeforeScripts(script string) {
	p.t.Helper()
	p.run("add a script", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// Go opens a path, or an address on the same host, and waits until the page has loaded.
func (p *Page) Go(path string) {
	p.t.Helper()
	target, err := p.base.Parse(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Do("go to "+path, chromedp.Navigate(target.String()))
}

// Path returns the path and the query of the address that the page is at.
func (p *Page) Path() string {
	p.t.Helper()
	return Eval[string](p, "location.pathname + location.search")
}

// Eval evaluates a JavaScript expression in the page and returns its value. A promise is awaited.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	var value T
	p.run("evaluate "+expression, func(ctx context.Context) (err error) {
		value, err = eval[T](ctx, expression)
		return err
	})
	return value
}

func eval[T any](ctx context.Context, expression string) (value T, err error) {
	yes := true
	answer, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes})
	if err != nil {
		return value, err
	}
	if d := answer.ExceptionDetails; d != nil {
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		return value, errors.New(text)
	}
	if answer.Result.Type == "undefined" {
		return value, nil
	}
	return value, json.Unmarshal([]byte(answer.Result.Value), &value)
}

// Wait waits until a JavaScript expression is truthy in a page that is read to its end, across reloads and navigations. While a
// page is being read, its first half can have the focus already.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	p.run("wait for "+expression, func(ctx context.Context) error {
		var last error
		for {
			ok, err := eval[bool](ctx, "document.readyState != 'loading' && Boolean("+expression+")")
			if ok {
				return nil
			}
			if err != nil && ctx.Err() == nil {
				last = err
			}
			select {
			case <-ctx.Done():
				return errors.Join(ctx.Err(), last)
			case <-time.After(pause):
			}
		}
	})
}

// text is an expression for the visible text of the elements that match a selector, with single blanks.
func text(selector string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%s)].map(e => e.innerText.replace(/\\s+/g, ' ').trim()).join('\\n')", Quote(selector))
}

// WaitText waits until the visible text of the elements that match a selector contains a text.
func (p *Page) WaitText(selector, want string) {
	p.t.Helper()
	p.Wait(text(selector) + ".includes(" + Quote(want) + ")")
}

// Text returns the visible text of the elements that match a selector: a line for each, with single blanks.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, text(selector))
}

// Count returns the number of elements that match a selector.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	return Eval[int](p, "document.querySelectorAll("+Quote(selector)+").length")
}

// Quote returns a text as a JavaScript string.
func Quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return strings.ReplaceAll(string(quoted), "\u2028", `\u2028`)
}
