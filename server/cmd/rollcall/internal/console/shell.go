package console

import "strings"

// ShellCommand joins words into a command for a POSIX shell.
func ShellCommand(words ...string) string {
	for i, word := range words {
		words[i] = ShellQuote(word)
	}
	return strings.Join(words, " ")
}

// ShellQuote quotes a word for a POSIX shell where necessary.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._/:", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
