package dashboard

import (
	"slices"
	"strings"
)

// maxSearch bounds the text of a search in characters, as the inputs of the pages do.
const maxSearch = 200

// search finds rows by words, all of which must occur.
type search struct {
	Text  string
	words []string // in lower case
}

func newSearch(text string) search {
	text = start(text, maxSearch)
	return search{Text: text, words: strings.Fields(strings.ToLower(text))}
}

// matches reports whether each word occurs in one of the texts, which are in lower case.
func (s search) matches(in ...string) bool {
	for _, word := range s.words {
		if !slices.ContainsFunc(in, func(text string) bool { return strings.Contains(text, word) }) {
			return false
		}
	}
	return true
}

// start returns the first characters of a text.
func start(text string, limit int) string {
	n := 0
	for at := range text {
		if n++; n > limit {
			return text[:at]
		}
	}
	return text
}
