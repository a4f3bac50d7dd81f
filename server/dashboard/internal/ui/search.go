package ui

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// MaxSearch bounds the text of a search in characters, as the inputs of the pages do.
const MaxSearch = 200

// Ticked returns the values that a form has for a name, as a set: a form of [MaxForm] has thousands.
func Ticked(form url.Values, name string) map[string]bool {
	set := make(map[string]bool, len(form[name]))
	for _, value := range form[name] {
		set[value] = true
	}
	return set
}

// PageNumber reads the number of a page of a list, from 1 on. No list has a million pages.
func PageNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1_000_000 {
		return 1
	}
	return n
}

// Search finds rows by words, all of which must occur.
type Search struct {
	Text  string
	words []string // in lower case
}

// Typed returns what somebody has typed into a search, as pages show it: [prose.Plain], the first [MaxSearch] characters.
func Typed(text string) string { return words.Start(strings.TrimSpace(prose.Plain(text)), MaxSearch) }

// NewSearch returns the search for a text.
func NewSearch(text string) Search {
	text = Typed(text)
	return Search{Text: text, words: strings.Fields(strings.ToLower(text))}
}

// Words returns the words, in lower case.
func (s Search) Words() []string { return s.words }

// Empty reports whether everything matches.
func (s Search) Empty() bool { return len(s.words) == 0 }

// Matches reports whether each word occurs in one of the texts, which are in lower case.
func (s Search) Matches(in ...string) bool {
	for _, word := range s.words {
		if !slices.ContainsFunc(in, func(text string) bool { return strings.Contains(text, word) }) {
			return false
		}
	}
	return true
}
