package sqlstore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// testTagSets: checks are counted as if they were read, at any instant, whether or not the watcher has recorded what the clock
// has done.
func testTagSets(t *testing.T, f fixture) {
	specs := []checks.Spec{
		{Tags: []string{"prod", "db"}}, {Tags: []string{"db"}}, {}, {Tags: []string{"db", "prod"}}, {Tags: []string{"prod", "db"}},
		{Tags: []string{"a", "", "b"}, Schedule: new("0 3 * * *")}, {Tags: []string{"prod", "db"}, MaxRuntime: new(2 * time.Hour)},
	}
	kinds := [][]pings.Kind{{}, {pings.Success}, {pings.Failure}, {pings.Start}, {pings.Success, pings.Start}, {pings.Success, pings.Failure, pings.Success}}
	for i, spec := range specs {
		spec.Timeout, spec.Grace = new(time.Duration(i+1)*time.Hour), new(90*time.Minute)
		if spec.Schedule != nil {
			spec.Timeout = nil
		}
		for _, list := range kinds {
			c := f.create(t, spec)
			for n, kind := range list {
				f.ping(t, c.ID, pings.Signal{Kind: kind}, noon.Add(time.Duration(n)*time.Minute))
			}
		}
		paused := f.create(t, spec)
		must(t, f.edit(t.Context(), paused.ID, func(l *store.Locked) error {
			c, effects := l.Check.Pause(noon)
			l.Apply(c, effects)
			return nil
		}))
	}
	other := f.addProject(t, newProject("other"))
	id := f.project.ID
	f.project = other
	f.create(t, checks.Spec{Tags: []string{"prod", "db"}})
	for _, after := range []time.Duration{0, time.Hour, time.Hour + 10*time.Minute, 2*time.Hour + 30*time.Minute, 5 * time.Hour, 20 * time.Hour, 48 * time.Hour} {
		for _, tags := range [][]string{nil, {"db"}, {"prod", "db"}, {"a", "b"}, {"none"}} {
			now := noon.Add(after)
			got, err := f.TagSets(t.Context(), store.CheckFilter{ProjectID: &id, Tags: tags}, now)
			must(t, err)
			if diff := cmp.Diff(countedOneByOne(t, f, id, tags, now), bySet(got)); diff != "" {
				t.Errorf("%v after noon, tags %q (-want +got):\n%s", after, tags, diff)
			}
		}
	}
}

// countedOneByOne reads checks and counts them.
func countedOneByOne(t *testing.T, f fixture, project uuid.UUID, tags []string, now time.Time) map[string]checks.Counts {
	t.Helper()
	list, err := f.Checks(t.Context(), store.CheckFilter{ProjectID: &project, Tags: tags})
	must(t, err)
	sets := map[string]checks.Counts{}
	for _, c := range list {
		key := strings.Join(slices.Sorted(slices.Values(c.TagList())), " ")
		if sets[key] == nil {
			sets[key] = checks.Counts{}
		}
		sets[key][c.Status(now)]++
	}
	return sets
}

// bySet adds up sets with the same tags.
func bySet(sets []checks.TagSet) map[string]checks.Counts {
	sums := map[string]checks.Counts{}
	for _, set := range sets {
		key := strings.Join(slices.Sorted(slices.Values(set.Tags)), " ")
		if sums[key] == nil {
			sums[key] = checks.Counts{}
		}
		for status, n := range set.Counts {
			sums[key][status] += n
		}
	}
	return sums
}
