package ui

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

//go:embed templates/*.html
var templateFiles embed.FS

// AddTemplates adds the pages of a package: templates/NAME.html is the page NAME, the layout with its blocks. Files whose
// name begins with an underscore hold parts that these pages share. funcs are functions beside those of all pages. The
// template "nav" of a page names the entry of the navigation that it belongs to.
func (s *Site) AddTemplates(files fs.FS, funcs template.FuncMap) {
	shared := template.Must(template.New("layout").Funcs(s.funcs()).Funcs(funcs).ParseFS(templateFiles, "templates/_*.html"))
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, own := range []bool{false, true} {
		for _, file := range names {
			name := strings.TrimSuffix(path.Base(file), ".html")
			switch part := strings.HasPrefix(name, "_"); {
			case part && !own:
				shared = template.Must(shared.ParseFS(files, file))
			case !part && own:
				s.addPage(name, template.Must(template.Must(shared.Clone()).ParseFS(files, file)))
			}
		}
	}
}

func (s *Site) addPage(name string, page *template.Template) {
	var nav strings.Builder
	if err := page.ExecuteTemplate(&nav, "nav", nil); err != nil {
		panic(err)
	}
	s.templates[name], s.navs[name] = page, nav.String()
}

// funcs are the functions of all templates.
func (s *Site) funcs() template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) string { return s.assets.paths[name] },
		"state": words.Mark,
		"glyph": words.Glyph,
		"ago":   words.Ago,
		"took":  prose.Duration,
		"title": documentTitle,
		"icon": func(name string) template.HTML {
			return `<svg class="i" aria-hidden="true"><use href="` + template.HTML(s.assets.paths["icons.svg"]+"#"+name) + `"/></svg>`
		},
		"favicon": func(p *page) string { return s.assets.paths[iconOf(p.Down, p.Late)] },
		"plural":  prose.Count[int],
		"dict":    dict,
		"join":    strings.Join,
		"name":    words.Name,
		"plain":   prose.Plain,
	}
}

// page is what the layout and every page get.
type page struct {
	// Base is the path that all addresses begin with, and ZoneCookie the name of the cookie in which a script keeps the time zone.
	Base, ZoneCookie string
	// ZoneData is the release of the time zone data.
	ZoneData string
	// Title is that of the document. Down and Late count checks of the project for the title, the icon and the navigation.
	Title      string
	Down, Late int
	// Nav names the entry of the navigation that the page belongs to.
	Nav string
	// Project is the project of the page; its ID is zero on pages without one.
	Project checks.Project
	// Others are the other projects that the viewer may see.
	Others []checks.Project
	// Right is the viewer's right in the project.
	Right checks.Right
	// Person is the account of the viewer, or nil. Viewer is the name of the viewer. SignedIn says whether the page offers to sign out.
	Person   *Person
	Viewer   string
	SignedIn bool
	// Notice is what the last action did, shown once.
	Notice string
	// Undo is what the button of the notice sends that undoes the action, or "". Here is the address of the page.
	Undo, Here string
	// Clock is the viewer's, and Now the time of the monitor in its zone.
	Clock words.Clock
	Now   time.Time
	// Own is the time zone of the check of the page, or else the viewer's.
	Own *time.Location
	// Got says whether the browser can load the page again without sending a form.
	Got bool
	// Still says that the page is that of an error: it has no times, follows nothing and does not load itself again.
	Still bool
	// Version is that of the project before the page was made.
	Version string
	// Data is the page's own.
	Data any
}

// Limit is the largest number of checks of the account, or "" for any number.
func (p *page) Limit() string {
	if n := p.Project.CheckLimit(); n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// HasProject reports whether the page belongs to a project.
func (p *page) HasProject() bool { return p.Project.ID != uuid.Nil }

// entry is an entry of the navigation: an icon and a label, and whether the page is there.
type entry struct {
	Icon, Label, Path string
	Here              bool
	Down              int
}

// Entry returns an entry for a path below that of the project. The path "" is that of the list of checks.
func (p *page) Entry(path, label string) entry {
	icon := cmp.Or(path, "checks")
	return entry{icon, label, fmt.Sprintf("%s/projects/%s/%s", p.Base, p.Project.ID, path), p.Nav == icon, p.Down}
}

// Timed reports whether the page may have times, and so says in which zone they are.
func (p *page) Timed() bool { return !p.Still && (p.HasProject() || p.Person != nil) }

// Render answers with a page. Title names the page in the browser; the layout adds the project.
func (q *Request) Render(name, title string, data any) error {
	return q.RenderStatus(http.StatusOK, name, title, data)
}

// RenderStatus answers with a page and a status.
func (q *Request) RenderStatus(status int, name, title string, data any) error {
	clock := q.Clock()
	p := &page{
		Base: q.Base, ZoneCookie: q.cookieName(zoneCookie), ZoneData: schedule.Zoneinfo().Version, Title: title, Nav: q.navs[name], Project: q.Project, Right: q.Right, Viewer: q.Access.Name, Person: q.Access.Person,
		SignedIn: !q.Config.ForeignSignIn() && (len(q.Access.Projects) > 0 || q.Access.Person != nil),
		Version:  q.Version, Clock: clock, Now: q.Mon.Now().In(clock.Zone), Own: q.OwnZone(),
		Got: q.R.Method == http.MethodGet, Still: name == "error", Data: data,
	}
	if p.HasProject() {
		p.Project.Name = words.Name(p.Project.Name, "unnamed")
	}
	if !q.Refresh {
		p.Notice, p.Undo, p.Here = q.takeNotice(), q.takeUndo(), q.R.URL.RequestURI()
	}
	if counted, ok := data.(interface{ Counts() (down, late int) }); ok {
		p.Down, p.Late = counted.Counts()
	} else if p.HasProject() { // without them, if they cannot be read
		counts, _ := q.Mon.Project(q.Project.ID).Count(q.Ctx(), checks.ListQuery{Now: p.Now})
		p.Down, p.Late = SummaryOf(counts).Counts()
	}
	for _, other := range q.Access.Projects {
		if other.ProjectID == q.Project.ID || q.Project.ID == uuid.Nil {
			continue
		}
		if len(p.Others) == maxOthers {
			break
		}
		if project, err := q.Mon.Projects().ByID(q.Ctx(), other.ProjectID); err == nil {
			project.Name = words.Name(project.Name, "unnamed")
			p.Others = append(p.Others, project)
		}
	}
	var out bytes.Buffer
	if err := q.templates[name].ExecuteTemplate(&out, "layout", p); err != nil {
		q.faultLog.Log(q.Log, slog.LevelError, name, "cannot render a page", "page", name, "error", err)
		http.Error(q.W, "internal error", http.StatusInternalServerError)
		return nil
	}
	q.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.Write(status, out.Bytes())
	return nil
}

// RenderPart answers with one of the templates within a page.
func (q *Request) RenderPart(page, part string, data any) error {
	var out bytes.Buffer
	if err := q.templates[page].ExecuteTemplate(&out, part, data); err != nil {
		return err
	}
	q.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.Write(http.StatusOK, out.Bytes())
	return nil
}

// maxOthers bounds the menu of projects. A person has the page of all projects besides.
const maxOthers = 20

// smallPage is up to how many bytes a page is compressed well: that takes it less than a millisecond, and saves a tenth of what is sent.
const smallPage = 20_000

// gzipWriters compress small pages and others.
var gzipWriters = map[bool]*sync.Pool{true: gzipPool(gzip.DefaultCompression), false: gzipPool(gzip.BestSpeed)}

func gzipPool(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, level)
		return w
	}}
}

// Write sends a body, compressed if that pays and the browser takes it.
func (q *Request) Write(status int, body []byte) {
	h := q.W.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < 1400 || !strings.Contains(q.R.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		q.W.WriteHeader(status)
		_, _ = q.W.Write(body)
		return
	}
	h.Set("Content-Encoding", "gzip")
	q.W.WriteHeader(status)
	pool := gzipWriters[len(body) <= smallPage]
	z := pool.Get().(*gzip.Writer)
	defer pool.Put(z)
	z.Reset(q.W)
	_, _ = z.Write(body)
	_ = z.Close()
}

// Notice shows a text on the next page of the viewer, once.
func (q *Request) Notice(text string) {
	if q.Kept(q.R, undoCookie) != "" { // of a notice that nobody has seen
		q.Keep(q.W, undoCookie, "", -1)
	}
	q.Keep(q.W, noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(prose.Plain(text))), time.Minute)
}

const noticeCookie = "rollcall_notice"

func (q *Request) takeNotice() string {
	kept := q.Kept(q.R, noticeCookie)
	if kept == "" {
		return ""
	}
	q.Keep(q.W, noticeCookie, "", -1)
	text, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil || len(text) > 500 {
		return ""
	}
	return string(text)
}

// cookieName returns the name under which browsers keep a cookie. Behind https, without a path, no other host of the domain can set
// it.
func (s *Site) cookieName(name string) string {
	if s.secure && s.Base == "" {
		return "__Host-" + name
	}
	return name
}

// Kept returns the value of a cookie that Keep has set, or "".
func (s *Site) Kept(r *http.Request, name string) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// Keep sets a cookie for the pages. An age of 0 lasts until the browser ends, a negative one deletes the cookie.
func (s *Site) Keep(w http.ResponseWriter, name, value string, age time.Duration) {
	c := &http.Cookie{Name: s.cookieName(name), Value: value, Path: s.Base + "/", HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode}
	switch {
	case age > 0:
		c.MaxAge = int(age / time.Second)
	case age < 0:
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// KeepNow is Keep for a cookie that counts for the rest of this request, too.
func (q *Request) KeepNow(name, value string, age time.Duration) {
	q.Keep(q.W, name, value, age)
	others := q.R.Cookies()
	q.R.Header.Del("Cookie")
	for _, c := range others {
		if c.Name != q.cookieName(name) {
			q.R.AddCookie(c)
		}
	}
	q.R.AddCookie(&http.Cookie{Name: q.cookieName(name), Value: value})
}

// documentTitle is the title of a page in the browser, which begins with how many checks are down.
func documentTitle(p *page) string {
	parts := []string{p.Title}
	if p.Down > 0 {
		parts = []string{fmt.Sprintf("%d down", p.Down), p.Title}
	}
	if p.HasProject() && p.Title != p.Project.Name {
		parts = append(parts, p.Project.Name)
	}
	return strings.Join(append(parts, "Rollcall"), " · ")
}

// iconOf names the icon for a project with that many checks down and late.
func iconOf(down, late int) string {
	switch {
	case down > 0:
		return "icon-down.svg"
	case late > 0:
		return "icon-late.svg"
	}
	return "icon-up.svg"
}

// dict makes a map for a nested template, from names and values in turn.
func dict(pairs ...any) (map[string]any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: argument %d is not a name", i)
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}
