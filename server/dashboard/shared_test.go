package dashboard_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// TestShared proves that viewers who look at the same share an answer, and others do not.
func TestShared(t *testing.T) {
	s := newSite(t)
	s.create(checks.Spec{Name: new("backup"), Tags: []string{"prod"}})
	refresh := func(b *browser, path string) *answer {
		b.t.Helper()
		b.header.Set("Rollcall-Version", "old")
		defer b.header.Del("Rollcall-Version")
		return b.get(path).is(http.StatusOK)
	}
	one, two := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadWrite)
	reader := s.signedIn(s.keys.ReadOnly)
	first := refresh(one, s.path("")).has("New check")
	s.advance(time.Second) // an answer that is made now has another time
	if again := refresh(two, s.path("")); again.body != first.body {
		t.Errorf("the second viewer did not get the shared answer:\n%s", again.body)
	}
	refresh(reader, s.path("")).hasNo("New check")
	if other := refresh(two, s.path("?tag=prod")); other.body == first.body {
		t.Error("another page has the same answer")
	}
	two.header.Set("Cookie", "rollcall_zone=Asia/Tokyo")
	if other := refresh(two, s.path("")); other.body == first.body {
		t.Error("a viewer in another time zone got the same answer")
	}
	one.get(s.path("")).has("New check") // opening a page renders it again
	s.create(checks.Spec{Name: new("export")})
	stream := one.stream()
	for {
		stream.next()
		if strings.Contains(refresh(one, s.path("")).body, "export") {
			break
		}
	}

	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { refresh(s.signedIn(s.keys.ReadOnly), s.path("?q=backup")).has("backup").hasNo(">export<") })
	}
	group.Wait()
}
