package monitor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// TestAfterIsRefused names checks that cannot be followed. Nothing changes then.
func TestAfterIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		s.create(t, checks.Spec{Slug: new("a")})
		b := s.create(t, checks.Spec{Slug: new("b"), After: new("a")})
		c := s.create(t, checks.Spec{Slug: new("c"), After: new(" b,a  b")})
		twin := s.create(t, checks.Spec{Slug: new("twin")})
		s.create(t, checks.Spec{Slug: new("twin")})
		other := s.addProject(t, checks.ProjectSpec{Name: "other"})
		abroad, err := s.Create(t.Context(), other.ID, checks.Spec{Slug: new("abroad")})
		must(t, err)
		if c.After != "b,a" {
			t.Errorf("the check follows %q", c.After)
		}
		a, err := s.Project(s.project.ID).CheckBySlug(t.Context(), "a")
		must(t, err)
		for _, test := range []struct {
			id         uuid.UUID
			slug       string // "" to keep it
			after, err string
		}{
			{a.ID, "", "nothing", `after names a check that this project does not have: "nothing"`},
			{a.ID, "", uuid.NewString(), "after names a check that this project does not have: "},
			{a.ID, "", "abroad", `after names a check that this project does not have: "abroad"`},
			{a.ID, "", abroad.ID.String(), `after names a check that this project does not have: `},
			{a.ID, "", "a", `after names the check itself: "a"`},
			{a.ID, "", a.ID.String(), `after names the check itself: `},
			{a.ID, "z", "z", `after names the check itself: "z"`},
			{a.ID, "", "twin", `after names 2 checks with the slug "twin", use the ID`},
			{a.ID, "", "b", "after makes a circle: a → b → a"},
			{a.ID, "", "c," + twin.ID.String(), "after makes a circle: a → c → b → a"},
			{a.ID, "", strings.ToUpper(b.ID.String()), "after makes a circle: a → b → a"},
			{a.ID, "", "A check", `after has an item that is neither a slug nor an ID: "A"`},
			{a.ID, "", "1 2 3 4 5 6 7 8 9 10 11", "after names too many checks: 11, the maximum is 10"},
		} {
			spec := checks.Spec{Name: new("renamed"), After: &test.after}
			if test.slug != "" {
				spec.Slug = &test.slug
			}
			_, err := s.Update(t.Context(), test.id, spec)
			refused, ok := errors.AsType[*checks.FieldError](err)
			if !ok || refused.Field != "after" || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %s", test.after, err, test.err)
			}
			now, err := s.Check(t.Context(), test.id)
			must(t, err)
			if now.After != "" || now.Name == "renamed" {
				t.Errorf("%s: a refused update changed the check: %+v", test.after, now.Settings)
			}
			if _, err := s.Create(t.Context(), s.project.ID, checks.Spec{Slug: new("new"), After: new("b,nothing")}); err == nil {
				t.Error("a check that follows nothing was created")
			}
		}
		_, err = s.Update(t.Context(), a.ID, checks.Spec{After: new(twin.ID.String())})
		must(t, err)
	})
}

// TestRenamedParent renames and deletes what others follow, and gives the name to a check that would close a circle.
func TestRenamedParent(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		a := s.create(t, checks.Spec{Slug: new("a")})
		b := s.create(t, checks.Spec{Slug: new("b"), After: new("a")})
		_, err := s.Update(t.Context(), a.ID, checks.Spec{Slug: new("x")})
		must(t, err)
		_, err = s.Update(t.Context(), b.ID, checks.Spec{Name: new("still"), After: new("a")}) // as a form sends it again
		must(t, err)
		_, err = s.Update(t.Context(), b.ID, checks.Spec{Slug: new("b2")})
		must(t, err)
		c := s.create(t, checks.Spec{Slug: new("c"), After: new("b2")})
		_, err = s.Update(t.Context(), c.ID, checks.Spec{Slug: new("a")})
		if err == nil || !strings.Contains(err.Error(), "after makes a circle: a → b2 → a") {
			t.Errorf("a rename closed a circle: %v", err)
		}
		_, err = s.Delete(t.Context(), b.ID)
		must(t, err)
		_, err = s.Update(t.Context(), c.ID, checks.Spec{Slug: new("a")})
		must(t, err)
		moved, err := s.Project(s.project.ID).Transfer(t.Context(), c.ID, s.addProject(t, checks.ProjectSpec{Name: "other"}).ID)
		must(t, err)
		if moved.After != "" {
			t.Errorf("a check of another project follows %q", moved.After)
		}
	})
}

// TestConcurrentAfter lets each of several checks follow the next at once, which would be a circle.
func TestConcurrentAfter(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		names := []string{"a", "b", "c", "d"}
		ids := make([]uuid.UUID, len(names))
		for i, name := range names {
			ids[i] = s.create(t, checks.Spec{Slug: &name}).ID
		}
		errs := make([]error, len(names))
		var all sync.WaitGroup
		for i := range names {
			all.Go(func() {
				_, errs[i] = s.Update(t.Context(), ids[i], checks.Spec{After: &names[(i+1)%len(names)]})
			})
		}
		all.Wait()
		refused := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		if len(refused) != 1 || !strings.Contains(refused[0].Error(), "makes a circle") {
			t.Errorf("refused: %v, want one", refused)
		}
	})
}

// TestRelated lists parents, children and names that mean nothing.
func TestRelated(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		a := s.create(t, checks.Spec{Slug: new("a")})
		b := s.create(t, checks.Spec{Slug: new("b")})
		c := s.create(t, checks.Spec{Slug: new("c"), After: new(b.ID.String() + ",a")})
		s.create(t, checks.Spec{Slug: new("d"), After: new("c,b")})
		names := func(list []checks.Snapshot) (names []string) {
			for _, c := range list {
				names = append(names, c.Slug)
			}
			return names
		}
		related := func(of checks.Check) string {
			r, err := s.Project(s.project.ID).Related(t.Context(), of)
			must(t, err)
			return fmt.Sprint(names(r.Parents), names(r.Children), r.Lost)
		}
		for _, test := range []struct {
			of   checks.Check
			want string
		}{{a, "[] [c] []"}, {b, "[] [c d] []"}, {c, "[b a] [d] []"}} {
			if got := related(test.of); got != test.want {
				t.Errorf("%s: %s, want %s", test.of.Slug, got, test.want)
			}
		}
		followers, err := s.Project(s.project.ID).Followers(t.Context(), []checks.Check{a, b, c})
		must(t, err)
		if len(followers[a.ID]) != 1 || len(followers[b.ID]) != 2 || followers[a.ID][0] != c.ID || len(followers[c.ID]) != 1 {
			t.Errorf("followers: %v", followers)
		}
		_, err = s.Update(t.Context(), a.ID, checks.Spec{Slug: new("z")})
		must(t, err)
		if got, want := related(c), "[b] [d] [a]"; got != want {
			t.Errorf("after a rename: %s, want %s", got, want)
		}
	})
}
