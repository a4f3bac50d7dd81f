package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// load is a number of jobs that ping checks of one server without pause. A test that reads the log of a check stops before
// 1000 pings, which the log shows.
type load struct {
	mu           sync.Mutex
	acknowledged map[string]map[string]bool // the names of pings, by check
	count        int                        // of acknowledged pings
	unavailable  int                        // answered with 503
	problems     []string
	client       *http.Client
	jobs         sync.WaitGroup
	stop         context.CancelFunc
}

// startLoad starts jobs on some checks. They end with the test, or with finish.
func startLoad(t *testing.T, p *process, list []apiCheck, jobs int) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: jobs}}
	l := &load{acknowledged: make(map[string]map[string]bool), stop: stop, client: client}
	for _, c := range list {
		l.acknowledged[c.UUID] = make(map[string]bool)
	}
	for job := range jobs {
		l.jobs.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c := list[(job+n)%len(list)]
				if err := l.ping(p.url+"/ping/"+c.UUID, c.UUID, fmt.Sprintf("job %d ping %d", job, n)); err != nil {
					return // the server is gone
				}
			}
		})
	}
	t.Cleanup(l.finish)
	return l
}

// ping sends one ping with its name as the user agent. It returns an error if the server does not answer.
func (l *load) ping(url, check, name string) error {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(name))
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", name)
	res, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case res.StatusCode == http.StatusOK:
		l.acknowledged[check][name] = true
		l.count++
	case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
		l.unavailable++
	default:
		l.problems = append(l.problems, fmt.Sprintf("%s: status %d: %s", name, res.StatusCode, body))
	}
	return nil
}

// finish stops the jobs and waits for their last answers.
func (l *load) finish() {
	l.stop()
	l.jobs.Wait()
	l.client.CloseIdleConnections()
}

func (l *load) counts() (acknowledged, unavailable int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count, l.unavailable
}

// waitFor waits until that many more pings have been acknowledged and that many more answered with 503.
func (l *load) waitFor(t *testing.T, acknowledged, unavailable int) {
	t.Helper()
	a, u := l.counts()
	if !eventually(patience, func() bool {
		nowA, nowU := l.counts()
		return nowA >= a+acknowledged && nowU >= u+unavailable
	}) {
		nowA, nowU := l.counts()
		t.Fatalf("%d more pings were acknowledged, want %d; %d were answered with 503, want %d", nowA-a, acknowledged, nowU-u, unavailable)
	}
}

// names returns the names of the acknowledged pings of a check so far.
func (l *load) names(check string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name := range l.acknowledged[check] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// verify reports wrong answers.
func (l *load) verify(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) > 0 {
		t.Errorf("%d wrong answers, the first: %s", len(l.problems), l.problems[0])
	}
}

// logOf returns the sorted names of the pings in the log of a check, whose numbers must have no gaps and no duplicates.
func logOf(t *testing.T, mon *monitor.Monitor, c apiCheck) []string {
	t.Helper()
	check, err := mon.Check(t.Context(), uuid.MustParse(c.UUID))
	if err != nil {
		t.Fatal(err)
	}
	log, err := checks.Collect(mon.Project(check.ProjectID).Pings(t.Context(), check.ID, checks.PingQuery{}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var numbers, want []int64
	for i, ping := range log {
		names = append(names, ping.UserAgent)
		numbers = append(numbers, ping.N)
		want = append(want, check.NPings-int64(i))
	}
	if diff := cmp.Diff(want, numbers); diff != "" || check.NPings != int64(len(log)) {
		t.Errorf("n_pings is %d, and the numbers of the pings (-want +got):\n%s", check.NPings, diff)
	}
	if n := len(log); n > 0 && (check.Stored != "up" || !check.LastPing.Equal(log[0].At) || log[0].Kind != pings.Success) {
		t.Errorf("the check is %s since %v, and its newest ping is %s at %v", check.Stored, check.LastPing, log[0].Kind, log[0].At)
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("%d pings are recorded twice", len(names)-len(unique))
	}
	return names
}

// lost returns the names that a log does not have.
func lost(acknowledged, log []string) []string {
	has := make(map[string]bool, len(log))
	for _, name := range log {
		has[name] = true
	}
	return slices.DeleteFunc(acknowledged, func(name string) bool { return has[name] })
}
