package live

import (
	"net/http"
	"sync"
	"time"
)

const (
	// sharedAge is how long an answer to one open page also answers others that look at the same.
	sharedAge = 2 * time.Second
	// maxShared bounds the answers of a project that are shared.
	maxShared = 100
)

// Pages are the answers to open pages that ask again. A change makes all viewers ask at once; those who look at the
// same page get the same answer, which is made once.
type Pages struct {
	mu      sync.Mutex
	version string
	pages   map[string]*Page
}

// Page is an answer. Only a page with status 200 is shared; Status is 0 otherwise.
type Page struct {
	made   time.Time
	Done   chan struct{} // closed once the fields below are set
	Status int
	Header http.Header
	Body   []byte
}

// Find returns the answer for a version and a key. If there is none, the caller must make it, and close Done. The answer
// is nil if there are too many.
func (s *Pages) Find(version, key string) (page *Page, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != version {
		s.version, s.pages = version, nil
	}
	if page := s.pages[key]; page != nil && time.Since(page.made) < sharedAge {
		return page, true
	}
	if s.pages == nil {
		s.pages = make(map[string]*Page)
	}
	if s.pages[key] == nil && len(s.pages) >= maxShared {
		return nil, false
	}
	page = &Page{made: time.Now(), Done: make(chan struct{})}
	s.pages[key] = page
	return page, false
}
