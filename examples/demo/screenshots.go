package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// photograph makes the images of the pages that a link opens.
func photograph(ctx context.Context, link, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900, chromedp.EmulateScale(2)), chromedp.Navigate(link)); err != nil {
		return err
	}
	overview, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return err
	}
	home := strings.TrimSuffix(overview, "overview")
	check, err := chromedp.Run(ctx, chromedp.Evaluate[string](`[...document.querySelectorAll("a")].find(a => a.innerText == "nightly-backup").href`))
	if err != nil {
		return err
	}
	for name, url := range map[string]string{"overview": overview, "checks": home, "board": home + "board", "check": check} {
		for _, scheme := range []string{"light", "dark"} {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
				return err
			}
			answer, err := chromedp.Run(ctx, chromedp.NavigateResponse(url))
			if err != nil {
				return fmt.Errorf("%s: %w", url, err)
			}
			if answer.Status != 200 {
				return fmt.Errorf("%s: the status is %d", url, answer.Status)
			}
			image, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "webp", Quality: new(int64(85))})
			if err != nil {
				return err
			}
			file := filepath.Join(dir, name+"-"+scheme+".webp")
			if err := os.WriteFile(file, image.Data, 0o644); err != nil {
				return err
			}
			log.Print("wrote ", file)
		}
	}
	return nil
}
