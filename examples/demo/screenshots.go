package main

import (
	"context"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// windows are the sizes of the images. The name of an image of the first has no size.
var windows = []struct {
	name          string
	width, height int64
}{{"", 1280, 900}, {"-phone", 375, 812}}

// photograph signs in and writes images of a page of each kind: on a desktop and on a phone, light and dark.
func photograph(ctx context.Context, site string, o options) error {
	if err := os.MkdirAll(o.screenshots, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	if err := signIn(ctx, site); err != nil {
		return err
	}
	pages, err := crawl(ctx)
	if err != nil {
		return err
	}
	for _, w := range windows {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(w.width, w.height, chromedp.EmulateScale(2))); err != nil {
			return err
		}
		for _, address := range pages {
			for _, scheme := range []string{"light", "dark"} {
				file := filepath.Join(o.screenshots, pageName(address)+w.name+"-"+scheme+".webp")
				if err := shoot(ctx, address, scheme, file, o.whole); err != nil {
					return fmt.Errorf("%s: %w", address, err)
				}
			}
		}
	}
	log.Printf("wrote images of %d pages to %s", len(pages), o.screenshots)
	return nil
}

// signIn fills in the form, and opens the overview of the project.
func signIn(ctx context.Context, site string) error {
	if err := chromedp.Do(ctx, chromedp.Navigate(site+"/signin")); err != nil {
		return err
	}
	form := fmt.Sprintf("fetch('/signin', {method: 'POST', body: new URLSearchParams({email: %q, password: %q})}).then(a => a.url)", email, password)
	_, err := chromedp.Run(ctx, chromedp.Evaluate[string](form, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	return chromedp.Do(ctx, chromedp.Navigate(site+"/"))
}

// crawl returns the addresses of a page of each kind, from the one that is open on.
func crawl(ctx context.Context) (pages []string, err error) {
	home, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	project := strings.TrimSuffix(home, "overview")
	root, _, _ := strings.Cut(project, "/projects/")
	for todo := []string{home, project + "integrations/new?kind=webhook", root + "/projects", root + "/account", root + "/people"}; len(todo) > 0; {
		address := todo[0]
		todo = todo[1:]
		if name := pageName(address); seen[name] {
			continue
		} else {
			seen[name] = true
		}
		if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
		pages = append(pages, address)
		// The check with the most to show comes before the others.
		links, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("main a[href], nav a[href]")]
			.filter(a => a.origin == location.origin && !a.search && !/\/(api|raw|export)\b/.test(a.pathname))
			.sort((a, b) => (b.innerText == "nightly-backup") - (a.innerText == "nightly-backup")).map(a => a.origin + a.pathname)`))
		if err != nil {
			return nil, err
		}
		todo = append(todo, links...)
	}
	return pages, nil
}

// identifier is a part of a path that tells pages of one kind apart.
var identifier = regexp.MustCompile(`^([0-9a-f-]{36}|[0-9a-f]{40}|\d+)$`)

// pageName names the kind of a page: "checks", "check", "check-edit", "integrations-new".
func pageName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	path := strings.Trim(u.Path, "/")
	if path == "projects" {
		return path
	}
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "projects":
		case !identifier.MatchString(part):
			parts = append(parts, part)
		case len(parts) > 0:
			parts[len(parts)-1] = strings.TrimSuffix(parts[len(parts)-1], "s")
		}
	}
	if len(parts) == 0 {
		return "checks"
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	return strings.Join(parts, "-")
}

// shoot writes the image of a page: of what the window shows, or of the whole page.
func shoot(ctx context.Context, address, scheme, file string, whole bool) error {
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		return err
	}
	answer, err := chromedp.Run(ctx, chromedp.NavigateResponse(address))
	if err != nil {
		return err
	}
	if answer.Status != 200 {
		return fmt.Errorf("the status is %d", answer.Status)
	}
	params := page.CaptureScreenshotParams{Format: "webp", Quality: new(int64(85))}
	if whole {
		size, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64]("[innerWidth, document.documentElement.scrollHeight]"))
		if err != nil {
			return err
		}
		params.Clip = &page.Viewport{Width: size[0], Height: min(size[1], 6000), Scale: 1}
		params.CaptureBeyondViewport = new(true)
	}
	image, err := chromedp.Call(ctx, page.CaptureScreenshot, params)
	if err != nil {
		return err
	}
	return os.WriteFile(file, image.Data, 0o644)
}
