package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestUpsert(t *testing.T) {
	each(t, nil, func(s *site) {
		first := s.create(object{"name": "a", "slug": "s", "tags": "x y", "timeout": 60, "grace": 60, "desc": "kept"})
		s.clock.Advance(time.Microsecond)
		s.create(object{"name": "a", "slug": "t"})
		upsert := func(status int, fields object, unique ...string) object {
			s.Helper()
			fields["unique"] = unique
			return s.api("POST", "/api/v3/checks/", fields).object(status)
		}
		for _, c := range []struct {
			fields object
			unique []string
		}{
			{object{"name": "a"}, []string{"name"}}, // the oldest of two
			{object{"slug": "s"}, []string{"slug"}},
			{object{"tags": "x y"}, []string{"tags"}},
			{object{"timeout": 60}, []string{"timeout"}},
			{object{"grace": 60}, []string{"grace"}},
			{object{"name": "a", "slug": "s", "tags": "x y", "timeout": 60, "grace": 60}, []string{"name", "slug", "tags", "timeout", "grace", "name"}},
		} {
			want := without(first)
			s.equal("upsert", upsert(200, c.fields, c.unique...), want)
		}
		got := upsert(200, object{"slug": "s", "name": "new name", "timeout": 120}, "slug")
		s.equal("updated", []any{got["uuid"], got["name"], got["timeout"], got["desc"]}, []any{first["uuid"], "new name", 120.0, "kept"})
		// Fields that match in part, or are missing from the body, match no check.
		upsert(201, object{"name": "new name", "slug": "other"}, "name", "slug")
		upsert(201, object{"name": "new name"}, "name", "slug")
		upsert(201, object{}, "name")
		upsert(201, object{"tags": "y x"}, "tags")
		upsert(201, object{"name": "New name"}, "name")
		if n := len(s.api("GET", "/api/v3/checks/", nil).list(200, "checks")); n != 7 {
			s.Errorf("the project has %d checks, want 7", n)
		}
		// A refused upsert changes nothing.
		before := s.get(first)
		s.api("POST", "/api/v3/checks/", object{"slug": "s", "name": "x", "channels": "none", "unique": []string{"slug"}}).is(400)
		s.api("POST", "/api/v3/checks/", object{"slug": "s", "name": "x", "grace": 59, "unique": []string{"slug"}}).is(400)
		s.equal("after refused upserts", s.get(first), before)
		// A Cron check has no timeout.
		cron := upsert(201, object{"name": "cron", "schedule": "* * * * *"}, "name")
		upsert(201, object{"name": "cron", "timeout": 86400}, "name", "timeout")
		s.equal("cron", upsert(200, object{"name": "cron"}, "name")["uuid"], cron["uuid"])
		// Another project's checks do not match.
		_, other := s.otherProject("Other")
		s.send("POST", "/api/v3/checks/", object{"slug": "s", "unique": []string{"slug"}}, "X-Api-Key", other.ReadWrite).is(201)
	})
}

func TestConcurrentUpserts(t *testing.T) {
	each(t, nil, func(s *site) {
		const clients = 16
		var group sync.WaitGroup
		statuses := make([]int, clients)
		for i := range clients {
			group.Go(func() {
				body := fmt.Sprintf(`{"name":"one","desc":"%d","unique":["name"]}`, i)
				request, err := http.NewRequestWithContext(s.Context(), "POST", s.url+"/api/v3/checks/", strings.NewReader(body))
				if err != nil {
					s.Error(err)
					return
				}
				request.Header.Set("X-Api-Key", s.keys.ReadWrite)
				response, err := s.client.Do(request)
				if err != nil {
					s.Error(err)
					return
				}
				response.Body.Close()
				statuses[i] = response.StatusCode
			})
		}
		group.Wait()
		count := map[int]int{}
		for _, status := range statuses {
			count[status]++
		}
		s.equal("statuses", count, map[int]int{201: 1, 200: clients - 1})
		if n := len(s.api("GET", "/api/v3/checks/", nil).list(200, "checks")); n != 1 {
			s.Errorf("the project has %d checks, want 1", n)
		}
	})
}

func TestCheckLimit(t *testing.T) {
	eachPlan(t, nil, "free", func(s *site) {
		var last object
		for i := range 20 {
			last = s.create(object{"name": fmt.Sprint(i)})
		}
		s.api("POST", "/api/v3/checks/", object{"name": "one more"}).refused(403, "the account has reached its check limit: 20 checks")
		s.api("POST", "/api/v3/checks/", object{"name": "5", "unique": []string{"name"}}).is(200)
		s.api("POST", "/api/v3/checks/", object{"name": "none", "unique": []string{"name"}}).is(403)
		s.api("DELETE", path(last), nil).is(200)
		s.create(object{"name": "one more"})
	})
}

func TestNoCheckLimit(t *testing.T) {
	each(t, nil, func(s *site) {
		for range 20 + 1 {
			s.create(nil)
		}
	})
}
