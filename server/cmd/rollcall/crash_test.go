package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// A server that is killed during concurrent pings loses none that it acknowledged, and numbers them without gaps and
// duplicates.
func TestKillLosesNoAcknowledgedPing(t *testing.T) {
	const (
		crashes = 3
		jobs    = 8
		enough  = 150 // acknowledged pings before each crash
		slugs   = 2   // the log of each shows its newest 1000 pings
	)
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p := start(t, db.URL)
		key := keyOf(t, p)
		var list []apiCheck
		for i := range slugs {
			list = append(list, createCheck(t, p, key, fmt.Sprintf("job-%d", i)))
		}
		acknowledged := make([]map[string]bool, slugs)
		for i := range acknowledged {
			acknowledged[i] = make(map[string]bool)
		}
		for crash := range crashes {
			for i, names := range pingUntilKilled(t, p, list, fmt.Sprint("crash ", crash), jobs, enough) {
				for _, name := range names {
					acknowledged[i][name] = true
				}
			}
			p = start(t, db.URL)
			for i, c := range list {
				checkLog(t, p, key, c, acknowledged[i])
			}
		}
	})
}

// pingUntilKilled pings checks from many jobs at once, kills the server after enough acknowledged pings, and returns
// their names by check.
func pingUntilKilled(t *testing.T, p *process, list []apiCheck, prefix string, jobs int, enough int64) [][]string {
	t.Helper()
	acknowledged := make([][]string, len(list))
	var mu sync.Mutex
	var count atomic.Int64
	var wg sync.WaitGroup
	for job := range jobs {
		c := job % len(list)
		wg.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("%s job %d ping %d", prefix, job, n)
				r := request{method: http.MethodPost, url: p.url + "/ping/" + list[c].UUID, body: name, header: http.Header{"User-Agent": {name}}}
				status, body, err := r.do()
				if err != nil {
					return // killed
				}
				if status != http.StatusOK {
					t.Errorf("%s: status %d: %s", name, status, body)
					return
				}
				mu.Lock()
				acknowledged[c] = append(acknowledged[c], name)
				mu.Unlock()
				if count.Add(1) == enough {
					p.cmd.Process.Kill()
				}
			}
		})
	}
	wg.Wait()
	p.kill()
	if count.Load() < enough {
		t.Fatalf("the server ended after %d pings:\n%s", count.Load(), p.stderr.String())
	}
	return acknowledged
}

// checkLog compares the log of a check with the acknowledged pings.
func checkLog(t *testing.T, p *process, key string, c apiCheck, acknowledged map[string]bool) {
	t.Helper()
	var log struct {
		Pings []struct {
			N  int64  `json:"n"`
			UA string `json:"ua"`
		} `json:"pings"`
	}
	call(t, p, key, http.MethodGet, "/api/v3/checks/"+c.UUID+"/pings/", "", &log)
	var now apiCheck
	call(t, p, key, http.MethodGet, "/api/v3/checks/"+c.UUID, "", &now)
	var got, want []int64
	seen := make(map[string]int)
	for i, ping := range log.Pings {
		got = append(got, ping.N)
		want = append(want, int64(len(log.Pings)-i))
		seen[ping.UA]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the numbers of the pings (-want +got):\n%s", diff)
	}
	if now.NPings != int64(len(log.Pings)) || now.Status != "up" {
		t.Errorf("n_pings is %d with %d pings in the log, status %s", now.NPings, len(log.Pings), now.Status)
	}
	var lost, twice []string
	for name := range acknowledged {
		if seen[name] == 0 {
			lost = append(lost, name)
		}
	}
	for name, n := range seen {
		if n > 1 {
			twice = append(twice, name)
		}
	}
	slices.Sort(lost)
	if len(lost) > 0 || len(twice) > 0 {
		t.Errorf("lost: %s; recorded twice: %s", strings.Join(lost, ", "), strings.Join(twice, ", "))
	}
}
