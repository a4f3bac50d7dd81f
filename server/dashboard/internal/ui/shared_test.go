package ui_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestShared proves that viewers who look at the same share an answer, and others do not.
func TestShared(t *testing.T) {
	s := pagetest.New(t)
	s.Create(checks.Spec{Name: new("backup"), Tags: []string{"prod"}})
	refresh := func(b *pagetest.Browser, path string) *pagetest.Answer {
		b.T.Helper()
		b.Header.Set("Rollcall-Version", "old")
		defer b.Header.Del("Rollcall-Version")
		return b.Get(path).Is(http.StatusOK)
	}
	one, two := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadWrite)
	reader := s.SignedIn(s.Keys.ReadOnly)
	first := refresh(one, s.Path("")).Has("New check")
	s.Advance(time.Second) // an answer that is made now has another time
	if again := refresh(two, s.Path("")); again.Body != first.Body {
		t.Errorf("the second viewer did not get the shared answer:\n%s", again.Body)
	}
	refresh(reader, s.Path("")).HasNo("New check")
	if other := refresh(two, s.Path("?tag=prod")); other.Body == first.Body {
		t.Error("another page has the same answer")
	}
	two.In("Asia/Tokyo")
	if other := refresh(two, s.Path("")); other.Body == first.Body {
		t.Error("a viewer in another time zone got the same answer")
	}
	one.Get(s.Path("")).Has("New check") // opening a page renders it again
	s.Create(checks.Spec{Name: new("export")})
	stream := one.Stream()
	for {
		stream.Next()
		if strings.Contains(refresh(one, s.Path("")).Body, "export") {
			break
		}
	}

	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { refresh(s.SignedIn(s.Keys.ReadOnly), s.Path("?q=backup")).Has("backup").HasNo(">export<") })
	}
	group.Wait()
}
