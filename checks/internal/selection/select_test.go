package selection_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"pgregory.net/rapid"
)

// id returns the n-th test identifier.
func id(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("a0000000-0000-4000-8000-%012d", n))
}

// named returns channels with the given names and the identifiers id(0), id(1) and so on.
func named(names ...string) []channels.Channel {
	list := make([]channels.Channel, len(names))
	for i, name := range names {
		list[i] = channels.Channel{ID: id(i), Name: name, Kind: channels.Email}
	}
	return list
}

func TestSelect(t *testing.T) {
	available := named("Ops", "On call", "Twin", "Twin", "", id(0).String(), " Ops", "*", "ops", "Žurka")
	tests := []struct {
		name, selection string
		want            []int
		err             string
	}{
		{"all", "*", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, ""},
		{"none", "", []int{}, ""},
		{"a name", "Ops", []int{0}, ""},
		{"another case is another name", "ops", []int{8}, ""},
		{"a name with a blank", "On call", []int{1}, ""},
		{"not only ASCII", "Žurka", []int{9}, ""},
		{"white space counts", " Ops", []int{6}, ""},
		{"white space counts in lists", "On call, Ops", []int{1, 6}, ""},
		{"trailing white space counts", "Ops ", nil, `channels: no integration has the id or name "Ops "`},
		{"an identifier", id(1).String(), []int{1}, ""},
		{"an identifier in upper case", strings.ToUpper(id(1).String()), []int{1}, ""},
		{"an identifier is not a name", id(0).String(), []int{0}, ""},
		{"an identifier of a twin", id(3).String(), []int{3}, ""},
		{"an identifier without a name", id(4).String(), []int{4}, ""},
		{"white space beside an identifier", " " + id(1).String(), nil,
			`channels: no integration has the id or name " a0000000-0000-4000-8000-000000000001"`},
		{"an identifier without hyphens", strings.ReplaceAll(id(1).String(), "-", ""), nil,
			`channels: no integration has the id or name "a0000000000040008000000000000001"`},
		{"an unknown identifier", id(99).String(), nil,
			`channels: no integration has the id or name "a0000000-0000-4000-8000-000000000099"`},
		{"names and identifiers in the order of available", id(8).String() + ",On call,Ops", []int{0, 1, 8}, ""},
		{"twice", "Ops,On call,Ops," + id(1).String(), []int{0, 1}, ""},
		{"an unknown name", "Ops,Nobody", nil, `channels: no integration has the id or name "Nobody"`},
		{"a star in a list is a name", "Ops,*", []int{0, 7}, ""},
		{"a name of two", "Twin", nil, `channels: 2 integrations have the name "Twin", use the id`},
		{"only a comma", ",", nil, "channels: empty identifier"},
		{"an empty item", "Ops,,On call", nil, "channels: empty identifier"},
		{"a comma at the end", "Ops,", nil, "channels: empty identifier"},
		{"a comma at the start", ",Ops", nil, "channels: empty identifier"},
		{"the first error", "Nobody,,Twin", nil, `channels: no integration has the id or name "Nobody"`},
		{"quoted", "a\"\x00\xff", nil, `channels: no integration has the id or name "a\"\x00\xff"`},
		{"long", strings.Repeat("é", 500), nil,
			`channels: no integration has the id or name "` + strings.Repeat("é", 100) + `… (1000 bytes)"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []uuid.UUID
			if tt.want != nil {
				want = make([]uuid.UUID, 0)
			}
			for _, n := range tt.want {
				want = append(want, id(n))
			}
			got, err := selection.Select(available, tt.selection)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.err, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("identifiers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectOfNothing(t *testing.T) {
	got, err := selection.Select(nil, "*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uuid.UUID{}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSelectError(t *testing.T) {
	_, err := selection.Select(nil, "Ops")
	got, ok := errors.AsType[*channels.SelectError](err)
	if !ok {
		t.Fatalf("got %T, want a *SelectError", err)
	}
	want := &channels.SelectError{Item: "Ops", Reason: `no integration has the id or name "Ops"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSelectProperties writes a selection of known channels, in any order and with repetitions, and resolves it.
func TestSelectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "b ", " b", "ö", "*", id(1).String()}), 1, 8).Draw(t, "names")
		available := named(names...)
		picks := rapid.SliceOfN(rapid.IntRange(0, len(names)-1), 1, 12).Draw(t, "picks")
		items := make([]string, len(picks))
		for i, pick := range picks {
			items[i] = id(pick).String()
			name := names[pick]
			count := 0
			for _, other := range names {
				if other == name {
					count++
				}
			}
			usable := name != "" && count == 1 && (name != "*" || len(picks) > 1) &&
				(name != id(1).String() || len(names) < 2)
			if usable && rapid.Bool().Draw(t, "by name") {
				items[i] = name
			}
		}
		slices.Sort(picks)
		want := make([]uuid.UUID, 0, len(picks))
		for _, pick := range slices.Compact(picks) {
			want = append(want, id(pick))
		}
		got, err := selection.Select(available, strings.Join(items, ","))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("selection %q (-want +got):\n%s", items, diff)
		}
	})
}

func FuzzSelect(f *testing.F) {
	f.Add("a\nb\nb\n*\n", "*")
	f.Add("a\nb", "")
	f.Add("a\nb", "a,b,a")
	f.Add("a\nb\nb", "b,"+id(1).String())
	f.Add(id(1).String()+"\nx", id(1).String()+", x,\xff")
	f.Fuzz(func(t *testing.T, names, chosen string) {
		available := named(strings.Split(names, "\n")...)
		got, err := selection.Select(available, chosen)
		if err != nil {
			problem, ok := errors.AsType[*channels.SelectError](err)
			if !ok {
				t.Fatalf("got %T, want a *SelectError", err)
			}
			if !slices.Contains(strings.Split(chosen, ","), problem.Item) {
				t.Errorf("the error is about %q, which is not in the selection", problem.Item)
			}
			if text := err.Error(); !utf8.ValidString(text) || len(text) > 4000 {
				t.Errorf("the error text is not valid UTF-8 or too long: %q", text)
			}
			return
		}
		// A channel is selected if the selection names it.
		var want []uuid.UUID
		for i, c := range available {
			named := slices.ContainsFunc(strings.Split(chosen, ","), func(item string) bool {
				byID := strings.ToLower(item) == id(i).String()
				other := slices.ContainsFunc(available, func(c channels.Channel) bool {
					return strings.ToLower(item) == c.ID.String()
				})
				return byID || item == c.Name && !other
			})
			if chosen == "*" || chosen != "" && named {
				want = append(want, id(i))
			}
		}
		if !slices.Equal(want, got) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func ExampleSelect() {
	available := []channels.Channel{
		{ID: uuid.MustParse("7f4cf8b6-1b8e-4a5c-9b53-0a4b7f3a3c01"), Name: "Ops"},
		{ID: uuid.MustParse("c2a9cbb4-64a4-4d0b-8bb8-5f4f2f7b1d02"), Name: "On call"},
	}
	ids, _ := selection.Select(available, "On call,Ops")
	fmt.Println(ids)
	_, err := selection.Select(available, "Ops, On call")
	fmt.Println(err)
	// Output:
	// [7f4cf8b6-1b8e-4a5c-9b53-0a4b7f3a3c01 c2a9cbb4-64a4-4d0b-8bb8-5f4f2f7b1d02]
	// channels: no integration has the id or name " On call"
}
