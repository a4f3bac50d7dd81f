package discover

import "strings"

// simple is a command of a shell without what connects it to others.
type simple struct {
	words []word
	// redirects says that its input or output goes elsewhere.
	redirects bool
}

// word is a word of a command.
type word struct {
	text   string // without quotes
	raw    string
	quoted bool // some of it is in quotes, so it is neither an assignment nor a reserved word
}

// script is a command line of cron as a shell reads it.
type script struct {
	commands []simple
	// background says that it has a single & between or behind commands.
	background bool
	// plain says that it is one command of plain words: without operators, expansions, patterns and comments.
	plain bool
}

// scanner splits a command line into words and operators. It knows enough of the language of shells to find the commands; what it
// does not understand it takes for a word.
type scanner struct {
	text string
	at   int
	out  script
	now  simple
}

// parseShell reads a command line.
func parseShell(text string) script {
	s := &scanner{text: text}
	s.out.plain = true
	for s.at < len(s.text) {
		s.step()
	}
	s.end()
	if len(s.out.commands) != 1 {
		s.out.plain = false
	}
	return s.out
}

// end ends a command.
func (s *scanner) end() {
	if len(s.now.words) > 0 || s.now.redirects {
		s.out.commands = append(s.out.commands, s.now)
	}
	s.now = simple{}
}

// operator skips an operator between commands.
func (s *scanner) operator(length int) {
	s.out.plain = false
	s.at += length
	s.end()
}

// step reads a word or an operator.
func (s *scanner) step() {
	rest := s.text[s.at:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t':
		s.at++
	case c == '#': // step is at the beginning of a word
		s.out.plain = false
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		s.at += end
	case strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||") || strings.HasPrefix(rest, ";;") || strings.HasPrefix(rest, "|&"):
		s.operator(2)
	case strings.HasPrefix(rest, "&>"):
		s.redirect()
	case c == '&':
		s.out.background = true
		s.operator(1)
	case strings.IndexByte(";|()\n", c) >= 0:
		s.operator(1)
	case c == '<' || c == '>' || redirectNumber(rest):
		s.redirect()
	default:
		s.now.words = append(s.now.words, s.word())
	}
}

// redirectNumber reports whether a redirection with a number in front follows, such as 2>.
func redirectNumber(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	return len(rest) < len(text) && rest != "" && (rest[0] == '<' || rest[0] == '>')
}

// redirect skips a redirection with its file.
func (s *scanner) redirect() {
	s.out.plain, s.now.redirects = false, true
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], "0123456789"))
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], "<>&|"))
	if s.at < len(s.text) && s.text[s.at] == '-' && s.text[s.at-1] == '&' {
		s.at++
		return
	}
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], " \t"))
	if s.at < len(s.text) && strings.IndexByte("()\n", s.text[s.at]) < 0 {
		s.word()
	}
}

// special are the characters of words that a shell expands.
const special = "$`*?[]~{}!"

// word reads a word.
func (s *scanner) word() word {
	var w word
	var text strings.Builder
	start := s.at
	for s.at < len(s.text) && strings.IndexByte(" \t\n;|&<>()", s.text[s.at]) < 0 {
		switch c := s.text[s.at]; {
		case c == '\'':
			w.quoted = true
			inner, length := untilQuote(s.text[s.at+1:])
			text.WriteString(inner)
			s.at += 1 + length
		case c == '"':
			w.quoted = true
			s.double(&text)
		case c == '\\':
			w.quoted = true
			if s.at++; s.at < len(s.text) {
				text.WriteByte(s.text[s.at])
				s.at++
			}
		case strings.HasPrefix(s.text[s.at:], "$(") || c == '`':
			s.out.plain = false
			text.WriteString(s.substitution())
		default:
			if strings.IndexByte(special, c) >= 0 {
				s.out.plain = false
			}
			text.WriteByte(c)
			s.at++
		}
	}
	if s.at == start { // an operator where a word must be
		s.at++
	}
	w.text, w.raw = text.String(), s.text[start:s.at]
	return w
}

// untilQuote returns what stands before the next single quote, and the length with it.
func untilQuote(text string) (inner string, length int) {
	inner, _, found := strings.Cut(text, "'")
	if !found {
		return inner, len(inner)
	}
	return inner, len(inner) + 1
}

// double reads a piece in double quotes.
func (s *scanner) double(text *strings.Builder) {
	for s.at++; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return
		case c == '\\' && s.at+1 < len(s.text):
			if strings.IndexByte("$`\"\\\n", s.text[s.at+1]) < 0 {
				text.WriteByte(c)
			}
			text.WriteByte(s.text[s.at+1])
			s.at += 2
		case strings.HasPrefix(s.text[s.at:], "$(") || c == '`':
			s.out.plain = false
			text.WriteString(s.substitution())
		default:
			if c == '$' {
				s.out.plain = false
			}
			text.WriteByte(c)
			s.at++
		}
	}
}

// substitution skips a command substitution and returns it.
func (s *scanner) substitution() string {
	start := s.at
	if s.text[s.at] == '`' {
		for s.at++; s.at < len(s.text) && s.text[s.at] != '`'; s.at++ {
		}
		s.at = min(s.at+1, len(s.text))
		return s.text[start:s.at]
	}
	depth := 0
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '\'':
			_, length := untilQuote(s.text[s.at+1:])
			s.at += length
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				s.at++
				return s.text[start:s.at]
			}
		}
	}
	s.at = min(s.at, len(s.text))
	return s.text[start:s.at]
}
