package sqlstore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestTags: the table of tags equals the tags of the checks, whatever becomes of them, also if SQL by hand has written them.
func TestTags(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		bundb := db.Bun(t)
		s := dbtest.OpenOn(t, bundb).Database()
		mon := monitorOn(t, s)
		p, err := mon.OpenProject(t.Context(), "p")
		must(t, err)
		other, err := mon.OpenProject(t.Context(), "other")
		must(t, err)
		var list []checks.Check
		for _, tags := range [][]string{
			nil, {"a"}, {"a", "b"}, {"A", "ä", "a%", `"`, `\`, "'", `"],["`, "$1", "?", "{b}", "null"},
			{"a", "b", "c", "d", "e", "f", "g"}, {"a", "b", "c", "d", "e", "f", "h"}, {"日本", "\u0001", "a,b"}, {"x\ty\n", "", "z", "\u00a0w\u00a0v\u3000\u2028u\u0085"},
		} {
			for range 2 {
				c, err := p.Create(t.Context(), checks.Spec{Tags: tags})
				must(t, err)
				list = append(list, *c.Check)
			}
		}
		sameTags(t, s, p.ID(), other.ID())
		_, err = p.Update(t.Context(), list[2].ID, checks.Spec{Tags: []string{"b", "new"}})
		must(t, err)
		_, err = p.Update(t.Context(), list[5].ID, checks.Spec{Tags: []string{}})
		must(t, err)
		_, err = p.Delete(t.Context(), list[7].ID)
		must(t, err)
		must(t, s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			l, err := tx.LockCheck(ctx, list[8].ID)
			if err == nil {
				l.ProjectID, l.MovedFrom, l.SettingsChanged = other.ID(), l.ProjectID, true
				err = tx.SaveChecks(ctx, []*store.Locked{l})
			}
			return err
		}))
		sameTags(t, s, p.ID(), other.ID())
		_, err = bundb.ExecContext(t.Context(), "UPDATE rollcall_checks SET tags = 'by hand' WHERE uuid = ?", list[0].ID)
		must(t, err)
		sameTags(t, s, p.ID(), other.ID())
		must(t, mon.Projects().Delete(t.Context(), p.ID()))
		var n int
		must(t, bundb.NewSelect().Table("rollcall_check_tags").ColumnExpr("count(*)").Where("project_id = ?", p.ID()).Scan(t.Context(), &n))
		if n != 0 {
			t.Errorf("the deleted project has left %d tags", n)
		}
	})
}

// sameTags compares searches by tags with the tags of all checks.
func sameTags(t *testing.T, s *sqlstore.Database, projects ...uuid.UUID) {
	t.Helper()
	for _, project := range projects {
		all, err := s.Checks(t.Context(), store.CheckFilter{ProjectID: &project})
		must(t, err)
		var tags []string
		searches := [][]string{{"unknown"}, {"a", "unknown"}, {"\xff"}, {"a\x00"}, {""}, {"a b"}, {"a", "b", "c", "d", "e", "f", "g"}}
		for _, c := range all {
			tags = append(tags, c.TagList()...)
			searches = append(searches, c.TagList())
		}
		slices.Sort(tags)
		tags = slices.Compact(tags)
		for _, tag := range tags {
			searches = append(searches, []string{tag}, []string{tag, "a"}, []string{"b", tag})
		}
		got, err := s.Tags(t.Context(), project)
		must(t, err)
		same(t, "tags", got, tags)
		for _, search := range searches {
			var want, found []uuid.UUID
			for _, c := range all {
				if c.HasTags(search) {
					want = append(want, c.ID)
				}
			}
			search = slices.Compact(slices.Sorted(slices.Values(search)))
			list, err := s.Checks(t.Context(), store.CheckFilter{ProjectID: &project, Tags: search})
			must(t, err)
			for _, c := range list {
				found = append(found, c.ID)
			}
			if !slices.Equal(found, want) {
				t.Errorf("%q: found %d checks, want %d", search, len(found), len(want))
			}
		}
	}
}

// TestTriggersNest bounds how deep the triggers nest calls: the parser of SQLite before 3.46 has a stack of 100 symbols, and
// people open the file with the sqlite3 of their distribution.
func TestTriggersNest(t *testing.T) {
	var list []string
	db := dbtest.SQLite(t).Bun(t)
	dbtest.OpenOn(t, db)
	must(t, db.NewSelect().Table("sqlite_master").Column("sql").Where("type = 'trigger'").Scan(t.Context(), &list))
	if len(list) == 0 {
		t.Fatal("there are no triggers")
	}
	for _, text := range list {
		depth, most := 0, 0
		for _, c := range text {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			most = max(most, depth)
		}
		if most > 20 {
			t.Errorf("calls nest %d deep, at most 20 should:\n%s", most, text)
		}
	}
}
