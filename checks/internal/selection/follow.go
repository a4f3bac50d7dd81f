package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Node is a check as the others of its project see it: how they may name it, and which it follows.
type Node struct {
	ID    uuid.UUID // the zero UUID for a check that does not exist yet
	Slug  string
	After []string // slugs or IDs
}

// NodeOf returns the node of a check.
func NodeOf(c checks.Check) Node { return Node{c.ID, c.Slug, c.Parents()} }

// Graph has checks of a project that follow each other. The zero value has none.
type Graph struct {
	nodes  []Node
	byID   map[uuid.UUID]int
	bySlug map[string][]int
}

// Add adds checks that the graph does not have.
func (g *Graph) Add(nodes ...Node) {
	if g.byID == nil {
		g.byID, g.bySlug = make(map[uuid.UUID]int), make(map[string][]int)
	}
	for _, n := range nodes {
		if _, known := g.byID[n.ID]; known && n.ID != uuid.Nil {
			continue
		}
		g.byID[n.ID], g.bySlug[n.Slug] = len(g.nodes), append(g.bySlug[n.Slug], len(g.nodes))
		g.nodes = append(g.nodes, n)
	}
}

// Load adds the checks that those of the graph follow, whatever these follow, and so on. It reads a generation at once.
func (g *Graph) Load(read func(names []string) ([]Node, error)) error {
	asked := make(map[string]bool)
	for done := 0; done < len(g.nodes); {
		var names []string
		for ; done < len(g.nodes); done++ {
			for _, name := range g.nodes[done].After {
				if !asked[name] {
					asked[name], names = true, append(names, name)
				}
			}
		}
		if len(names) == 0 {
			return nil
		}
		found, err := read(names)
		if err != nil {
			return err
		}
		g.Add(found...)
	}
	return nil
}

// Find returns the checks that a slug or an ID names: one, none, or those that share a slug.
func (g *Graph) Find(name string) (found []Node) {
	for _, i := range g.find(name) {
		found = append(found, g.nodes[i])
	}
	return found
}

func (g *Graph) find(name string) []int {
	if id, ok := parseUUID(name); ok {
		if i, known := g.byID[id]; known && id != uuid.Nil {
			return []int{i}
		}
	}
	return g.bySlug[name]
}

// Parent returns the check that a name of another one's After means. The error says why there is none, or more than one.
func (g *Graph) Parent(of Node, name string) (Node, error) {
	switch found := g.Find(name); {
	case len(found) == 0:
		return Node{}, fmt.Errorf("names a check that this project does not have: %q", cut(name))
	case len(found) > 1:
		return Node{}, fmt.Errorf("names %d checks with the slug %q, use the ID", len(found), cut(name))
	case found[0].same(of):
		return Node{}, fmt.Errorf("names the check itself: %q", cut(name))
	default:
		return found[0], nil
	}
}

// Parents returns the checks that a check of the graph follows: those that its names mean, unless they follow it in turn.
func (g *Graph) Parents(of Node) (parents []Node) {
	for _, name := range of.After {
		if parent, err := g.Parent(of, name); err == nil && g.way(parent, of) == nil {
			parents = append(parents, parent)
		}
	}
	return parents
}

// way returns a way from a check over those that it follows to another one, the last of them first, or nil. Of several checks with a
// slug, it tries each.
func (g *Graph) way(from, to Node) []string {
	seen := make([]bool, len(g.nodes))
	var back func(n Node) []string
	back = func(n Node) []string {
		for _, name := range n.After {
			for _, i := range g.find(name) {
				next := g.nodes[i]
				if next.same(to) {
					return []string{next.name(), n.name()}
				}
				if seen[i] {
					continue
				}
				seen[i] = true
				if way := back(next); way != nil {
					return append(way, n.name())
				}
			}
		}
		return nil
	}
	return back(from)
}

func (n Node) same(as Node) bool { return n.ID == as.ID && n.Slug == as.Slug }

func (n Node) name() string { return cmp.Or(n.Slug, n.ID.String()) }

// Check returns an error about what a check of the graph follows, or nil. Names is whether each of its names must be that of
// one other check.
func (g *Graph) Check(of Node, names bool) error {
	for _, name := range of.After {
		if _, err := g.Parent(of, name); err != nil && names {
			return &checks.FieldError{Field: "after", Reason: err.Error()}
		}
	}
	if way := g.way(of, of); way != nil {
		slices.Reverse(way)
		return &checks.FieldError{Field: "after", Reason: "makes a circle: " + strings.Join(way, " → ")}
	}
	return nil
}
