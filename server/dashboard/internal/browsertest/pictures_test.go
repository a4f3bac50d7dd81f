package browsertest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// TestPictures: in the pictures of server/notify, which are drawn without a font at hand, no text leaves its frame in the fonts of this
// machine.
func TestPictures(t *testing.T) {
	const dir = "../../../notify"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("/favicon.ico", func(http.ResponseWriter, *http.Request) {})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	page, pictures := browsertest.Open(t, web.URL), 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".svg") {
			continue
		}
		pictures++
		page.Go("/" + file.Name())
		for _, wide := range browsertest.Eval[[]string](page, `(frames =>
			[...document.querySelectorAll("text")].filter(text => {
				const box = text.getBBox()
				return frames.some(f => box.y > f.y && box.y < f.y + f.height && box.x > f.x && box.x < f.x + f.width && box.x + box.width > f.x + f.width - 4)
			}).map(text => text.textContent)
		)([...document.querySelectorAll("rect")].map(rect => rect.getBBox()).filter(box => box.width > 8))`) {
			t.Errorf("%s: %q leaves its frame", file.Name(), wide)
		}
		if browsertest.Eval[bool](page, `[...document.querySelectorAll("foreignObject")].some(o => o.firstElementChild.getBoundingClientRect().bottom > o.getBoundingClientRect().bottom)`) {
			t.Errorf("%s: the page is higher than its frame", file.Name())
		}
	}
	if pictures < 10 {
		t.Errorf("%d pictures", pictures)
	}
}
