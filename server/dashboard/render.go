package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// templates are the pages by name: each is the layout with the blocks of templates/NAME.html. Files whose name begins
// with an underscore hold parts that all pages share.
type templates map[string]*template.Template

func (d *Dashboard) parseTemplates() templates {
	shared := template.Must(template.New("layout").Funcs(d.funcs()).ParseFS(templateFiles, "templates/_*.html"))
	files, err := fs.Glob(templateFiles, "templates/[a-z]*.html")
	if err != nil {
		panic(err)
	}
	pages := make(templates, len(files))
	for _, file := range files {
		page := template.Must(shared.Clone())
		pages[strings.TrimSuffix(path.Base(file), ".html")] = template.Must(page.ParseFS(templateFiles, file))
	}
	return pages
}

// page is what the layout and every page get.
type page struct {
	// Base is the path that all addresses begin with.
	Base string
	// Title is that of the document. Down and Late count checks for the title and the icon.
	Title      string
	Down, Late int
	// Nav names the entry of the navigation that the page belongs to.
	Nav string
	// Project is the project of the page; its ID is zero on pages without one.
	Project checks.Project
	// Others are the other projects that the viewer may see.
	Others []checks.Project
	// Edit says whether the viewer may change the project.
	Edit bool
	// Viewer is the name of the viewer. SignedIn says whether the page offers to sign out.
	Viewer   string
	SignedIn bool
	// Notice is what the last action did, shown once.
	Notice string
	// Zone is the viewer's time zone, and Now the time of the monitor in it.
	Zone *time.Location
	Now  time.Time
	// Version is that of the project before the page was made.
	Version string
	// Data is the page's own.
	Data any
}

// HasProject reports whether the page belongs to a project.
func (p *page) HasProject() bool { return p.Project.ID != uuid.Nil }

// render answers with a page. Title names the page in the browser; the layout adds the project.
func (q *request) render(name, title string, data any) error {
	return q.renderStatus(http.StatusOK, name, title, data)
}

func (q *request) renderStatus(status int, name, title string, data any) error {
	if err := q.ctx().Err(); err != nil { // the viewer is gone
		return err
	}
	zone := q.zone()
	p := &page{
		Base: q.base, Title: title, Nav: navOf[name], Project: q.project, Edit: q.edit, Viewer: q.access.Name,
		SignedIn: q.config.Authorize == nil && len(q.access.Projects) > 0,
		Version:  q.version, Zone: zone, Now: q.mon.Now().In(zone), Data: data,
	}
	if p.HasProject() {
		p.Project.Name = words.Name(p.Project.Name, "unnamed")
	}
	if !q.refresh {
		p.Notice = q.takeNotice()
	}
	if counted, ok := data.(interface{ counts() (down, late int) }); ok {
		p.Down, p.Late = counted.counts()
	}
	for _, other := range q.access.Projects {
		if other.ProjectID == q.project.ID || q.project.ID == uuid.Nil {
			continue
		}
		if project, err := q.mon.Project(q.ctx(), other.ProjectID); err == nil {
			project.Name = words.Name(project.Name, "unnamed")
			p.Others = append(p.Others, project)
		}
	}
	var out bytes.Buffer
	if err := q.templates[name].ExecuteTemplate(&out, "layout", p); err != nil {
		q.log.ErrorContext(q.ctx(), "cannot render a page", "page", name, "error", err)
		http.Error(q.w, "internal error", http.StatusInternalServerError)
		return nil
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.write(status, out.Bytes())
	return nil
}

// navOf maps pages to entries of the navigation.
var navOf = map[string]string{
	"checks": "checks", "check": "checks", "edit": "checks", "confirm": "checks", "body": "checks",
	"board": "board", "integrations": "integrations", "integration": "integrations", "deliveries": "deliveries",
	"statuspages": "status", "statuspage": "status", "statuspagedelete": "status", "settings": "settings", "keys": "settings", "badges": "settings", "import": "settings",
	"integrationkinds": "integrations", "integrationdelete": "integrations", "keyrevoke": "settings", "projectdelete": "settings",
}

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// write sends a body, compressed if that pays and the browser takes it.
func (q *request) write(status int, body []byte) {
	h := q.w.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < 1400 || !strings.Contains(q.r.Header.Get("Accept-Encoding"), "gzip") {
		q.w.WriteHeader(status)
		_, _ = q.w.Write(body)
		return
	}
	h.Set("Content-Encoding", "gzip")
	q.w.WriteHeader(status)
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(q.w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// notice shows a text on the next page of the viewer, once.
func (q *request) notice(text string) {
	http.SetCookie(q.w, q.cookie(noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(text)), time.Minute))
}

const noticeCookie = "rollcall_notice"

func (q *request) takeNotice() string {
	c, err := q.r.Cookie(noticeCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(q.w, q.cookie(noticeCookie, "", -1))
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) > 500 {
		return ""
	}
	return string(text)
}

// cookie makes a cookie for the pages. An age of 0 lasts until the browser ends, a negative one deletes the cookie.
func (d *Dashboard) cookie(name, value string, age time.Duration) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: d.base + "/", HttpOnly: true, Secure: d.secure, SameSite: http.SameSiteLaxMode}
	switch {
	case age > 0:
		c.MaxAge = int(age / time.Second)
	case age < 0:
		c.MaxAge = -1
	}
	return c
}

// assets serves the embedded files under a path that holds the hash of their contents, so browsers keep them for good.
type assets struct {
	base    string
	paths   map[string]string // by file name
	content map[string]asset  // by path
}

type asset struct {
	kind         string
	plain, small []byte // as it is, and compressed
}

func newAssets(base string) *assets {
	a := &assets{base: base, paths: map[string]string{}, content: map[string]asset{}}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	bodies := make(map[string][]byte, len(entries))
	hash := sha256.New() // one version for all, because modules import each other by relative paths
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		_, _ = hash.Write(body)
		bodies[e.Name()] = body
	}
	version := hex.EncodeToString(hash.Sum(nil)[:8])
	for file, body := range bodies {
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression)
		_, _ = z.Write(body)
		_ = z.Close()
		name := base + "/assets/" + version + "/" + file
		a.paths[file] = name
		a.content[name] = asset{kind: kindOf(file), plain: body, small: small.Bytes()}
	}
	return a
}

// kindOf returns the media type of a file, without asking the machine, whose tables may be wrong.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// pushWorker is the path of the service worker. It is fixed, because a browser asks for it again to update it, and above
// all pages, because they are its scope.
const pushWorker = "/push.js"

func (d *Dashboard) pushWorker(w http.ResponseWriter, _ *http.Request) {
	script := d.assets.content[d.assets.paths["push.js"]]
	w.Header().Set("Content-Type", script.kind)
	_, _ = w.Write(script.plain)
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := a.content[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := found.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = found.small
	}
	_, _ = w.Write(body)
}
