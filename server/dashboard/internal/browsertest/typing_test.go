package browsertest

import (
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Click clicks the first visible element that matches a selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	// A bar at an edge of the screen would cover an element that is only in view there.
	Eval[any](p, "document.querySelector("+Quote(selector)+")?.scrollIntoView({ block: 'center', behavior: 'instant' })")
	p.Do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Type replaces the text of a field, key by key.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.Wait("document.querySelector(" + Quote(selector) + ")")
	Eval[any](p, fmt.Sprintf("{ const e = document.querySelector(%s); e.focus(); e.select && e.select() }", Quote(selector)))
	if text == "" {
		text = kb.Delete
	}
	p.Press(text)
}

// Press presses keys, such as those of package kb, on the element that has the focus.
func (p *Page) Press(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.Do(fmt.Sprintf("press %q", keys), chromedp.KeyEvent(keys, options...))
}

// Submit clicks an element and waits until the next page has loaded.
func (p *Page) Submit(selector string) {
	p.t.Helper()
	p.Leave(func() { p.Click(selector) })
}

// Leave waits until the page that a step leads to has loaded.
func (p *Page) Leave(step func()) {
	p.t.Helper()
	Eval[any](p, "document.documentElement.__left = true")
	step()
	p.Wait("document.readyState == 'complete' && !document.documentElement.__left")
}

// Focus describes the element that has the focus.
type Focus struct {
	// Name is the tag, followed by "#" and the identifier, or "[name]" if it has a name and no identifier.
	Name string
	// Text is its visible text, label or value, cut to 60 characters.
	Text string
	// Visible reports whether the element has an outline or a shadow, and is inside the viewport.
	Visible bool
}

// Focused returns the element that has the focus; its Name is "body" if none has.
func (p *Page) Focused() Focus {
	p.t.Helper()
	return Eval[Focus](p, `(() => {
		const e = document.activeElement
		const name = e.localName + (e.id ? '#' + e.id : e.name ? '[' + e.name + ']' : '')
		const text = (e.getAttribute('aria-label') || (e.labels && e.labels[0] || e).innerText || e.value || '').replace(/\s+/g, ' ').trim().slice(0, 60)
		const s = getComputedStyle(e), r = e.getBoundingClientRect()
		const ring = s.outlineStyle != 'none' && parseFloat(s.outlineWidth) >= 1 || s.boxShadow != 'none'
		const inside = r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth
		return { Name: name, Text: text, Visible: ring && inside }
	})()`)
}

// Tab presses the tab key and returns the element that has the focus then.
func (p *Page) Tab() Focus {
	p.t.Helper()
	p.Press(kb.Tab)
	return p.Focused()
}
