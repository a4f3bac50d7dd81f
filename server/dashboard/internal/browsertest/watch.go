package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tolerate names parts of messages that the test expects from the console, for example "status of 403".
func (p *Page) Tolerate(parts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tolerate = append(p.tolerate, parts...)
}

// heard notes what is wrong in an event of the page.
func (p *Page) heard(event any) {
	var problem string
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			problem = fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			problem += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			problem = "console:"
			for _, arg := range e.Args {
				problem += " " + string(arg.Value) + arg.Description
			}
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != "" && u.Host != p.base.Host {
			problem = "request to another host: " + e.Request.URL
		}
	}
	if problem == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// Problems returns the problems that were heard of since the last call and that the test does not tolerate. They no
// longer fail the test.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := slices.DeleteFunc(p.problems, func(problem string) bool {
		return slices.ContainsFunc(p.tolerate, func(part string) bool { return strings.Contains(problem, part) })
	})
	p.problems = nil
	return found
}

func (p *Page) heardSoFar() string {
	if found := p.Problems(); len(found) > 0 {
		return "\n" + strings.Join(found, "\n")
	}
	return ""
}

// finish reports problems and leaves a screenshot if the test has failed.
func (p *Page) finish() {
	if p.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second) // a page that asks whether to leave answers nothing
	defer cancel()
	_, _ = eval[any](ctx, "1") // events arrive before the answer
	for _, problem := range p.Problems() {
		p.t.Errorf("the page: %s", problem)
	}
	if !p.t.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", "rollcall-browser-*")
	if err != nil {
		p.t.Log(err)
		return
	}
	path := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(p.t.Name())+".png")
	if err := p.screenshot(ctx, path); err != nil {
		p.t.Log(err)
		return
	}
	p.t.Logf("screenshot: %s", path)
}

// Screenshot writes an image of the whole page into a PNG file.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	if err := p.screenshot(p.ctx, path); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Page) screenshot(ctx context.Context, path string) error {
	image, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return err
	}
	return os.WriteFile(path, image, 0o644)
}
