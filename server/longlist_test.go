package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// TestLongList: a list that is sent in parts has the bytes of its checks one by one. Only a short list has a Content-Length.
func TestLongList(t *testing.T) {
	both(t, nil, func(s *site) {
		s.addLong(600)
		s = s.versioned()
		for _, version := range []string{"v1", "v2", "v3"} {
			for _, key := range []string{s.keys.ReadWrite, s.keys.ReadOnly} {
				path := "/api/" + version + "/checks/"
				long := s.send("GET", path, nil, "X-Api-Key", key).is(200)
				if length := long.header.Get("Content-Length"); length != "" || len(long.body) < 2<<20 {
					s.Errorf("%s: %d bytes, Content-Length %q", path, len(long.body), length)
				}
				var documents []string
				for _, check := range long.list(200, "checks") {
					id, _ := check["uuid"].(string)
					if id == "" {
						id = check["unique_key"].(string)
					}
					one := s.send("GET", path+id, nil, "X-Api-Key", key).is(200)
					documents = append(documents, strings.TrimSuffix(one.body, "\n"))
					if len(documents) == 20 {
						break
					}
				}
				if begin := `{"checks":[` + strings.Join(documents, ","); !strings.HasPrefix(long.body, begin) || !strings.HasSuffix(long.body, "}]}\n") {
					s.Errorf("%s is not its checks one by one", path)
				}
				short := s.send("GET", path+"?slug=job-7", nil, "X-Api-Key", key)
				s.equal("a short list", len(short.list(200, "checks")), 1)
				head := s.send("HEAD", path+"?slug=job-7", nil, "X-Api-Key", key)
				for _, r := range []reply{short, head} {
					s.equal(r.what, r.header.Get("Content-Length"), fmt.Sprint(len(short.body)))
				}
				s.send("HEAD", path, nil, "X-Api-Key", key).is(200)
			}
		}
	})
}

// TestBrokenList: if the database fails while a long list is being sent, the connection breaks off, and the log has the cause.
// If it fails earlier, the client gets an error.
func TestBrokenList(t *testing.T) {
	each(t, nil, func(s *site) {
		s.addLong(600)
		broken := s.another(&dbtest.Hooked{Store: s.store, Around: func(op string, do func() error) error {
			err := do()
			if op == "Checks" {
				err = fmt.Errorf("%w: it is on fire", checks.ErrUnavailable)
			}
			return err
		}}, monitor.Config{}, server.Config{})
		broken.api("GET", "/api/v3/checks/?slug=job-7", nil).refused(503, "unavailable")
		s.clock.Advance(time.Minute) // errors are logged once a second
		request, err := http.NewRequestWithContext(s.Context(), "GET", broken.url+"/api/v3/checks/", nil)
		s.must(err)
		request.Header.Set("X-Api-Key", s.keys.ReadWrite)
		response, err := http.DefaultClient.Do(request)
		s.must(err)
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err == nil || response.StatusCode != 200 || len(body) < 1<<20 {
			s.Errorf("status %d, %d bytes, error %v", response.StatusCode, len(body), err)
		}
		if log := s.log.String(); strings.Count(log, "it is on fire") != 2 {
			s.Errorf("the log lacks the cause: %s", log)
		}
	})
}

// addLong adds checks with a description of 4 kB.
func (s *site) addLong(n int) {
	s.Helper()
	var list []checks.Check
	for i := range n {
		c, err := checks.New(s.project.ID, checks.Spec{
			Name: new(fmt.Sprint("job ", i)), Slug: new(fmt.Sprint("job-", i)), Desc: new(strings.Repeat("<é&", 1000)),
		}, s.clock.Now())
		s.must(err)
		list = append(list, c)
	}
	dbtest.Insert(s, s.store, nil, nil, list)
}
