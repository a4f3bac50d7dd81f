package dashboard

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// sharedAge is how long an answer to one open page also answers others that look at the same.
	sharedAge = 2 * time.Second
	// maxShared bounds the answers of a project that are shared.
	maxShared = 100
)

// sharedPages are the answers to open pages that ask again. A change makes all viewers ask at once; those who look at the
// same page get the same answer, which is made once.
type sharedPages struct {
	mu      sync.Mutex
	version string
	pages   map[string]*sharedPage
}

// sharedPage is an answer. Only a page with status 200 is shared; status is 0 otherwise.
type sharedPage struct {
	made   time.Time
	done   chan struct{} // closed once the fields below are set
	status int
	header http.Header
	body   []byte
}

// find returns the answer for a version and a key. If there is none, the caller must make it, and close done. The answer
// is nil if there are too many.
func (s *sharedPages) find(version, key string) (page *sharedPage, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != version {
		s.version, s.pages = version, nil
	}
	if page := s.pages[key]; page != nil && time.Since(page.made) < sharedAge {
		return page, true
	}
	if s.pages == nil {
		s.pages = make(map[string]*sharedPage)
	}
	if s.pages[key] == nil && len(s.pages) >= maxShared {
		return nil, false
	}
	page = &sharedPage{made: time.Now(), done: make(chan struct{})}
	s.pages[key] = page
	return page, false
}

// share answers an open page that asks again, with what another viewer of the same page got if there is such an answer.
func (q *request) share(h handler) error {
	if strings.Contains(q.r.URL.Path, "/keys") { // they say which key the viewer has signed in with
		return h(q)
	}
	page, found := q.live.shared.find(q.version, q.shareKey())
	switch {
	case page == nil:
		return h(q)
	case found:
		select {
		case <-page.done:
		case <-q.ctx().Done():
			return nil
		}
		if page.status == 0 {
			return h(q)
		}
		maps.Copy(q.w.Header(), page.header)
		q.w.WriteHeader(page.status)
		_, _ = q.w.Write(page.body)
		return nil
	}
	defer close(page.done)
	cookies := len(q.w.Header()["Set-Cookie"]) // of the session; a page with more is for one viewer
	recorder := &pageRecorder{ResponseWriter: q.w}
	q.w = recorder
	err := h(q)
	if err == nil && recorder.status == http.StatusOK && len(recorder.Header()["Set-Cookie"]) == cookies {
		page.header = recorder.Header().Clone()
		page.header.Del("Set-Cookie")
		page.body, page.status = recorder.body.Bytes(), recorder.status
	}
	return err
}

// shareKey names everything that a page depends on besides the state of the project.
func (q *request) shareKey() string {
	gzip := strings.Contains(q.r.Header.Get("Accept-Encoding"), "gzip")
	return fmt.Sprintf("%q %q %v %v %q %v", q.r.URL.Path, q.r.URL.RawQuery, q.zone(), gzip, q.access.Name, q.access.Projects)
}

// pageRecorder keeps a copy of an answer.
type pageRecorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *pageRecorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *pageRecorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] find the writer.
func (r *pageRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
