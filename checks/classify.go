package checks

import (
	"github.com/rollcall-dev/rollcall/keywords"
	"github.com/rollcall-dev/rollcall/pings"
)

// Classify says what the check's rules make of a signal: which methods count, and the keyword rules of API-V3.md
// section 2.1.1. Keywords decide whatever the signal itself says, so that with filtering enabled even a signal
// of failure that matches no keyword is ignored. A signal given in process is neither HTTP nor e-mail, and means
// what it says.
func (c Check) Classify(s pings.Signal) pings.Kind {
	if s.OverHTTP() && c.Methods == "POST" && s.Method != "POST" {
		return pings.Ignored
	}
	switch {
	case s.Mail != nil && (c.FilterSubject || c.FilterBody):
		var text string
		if c.FilterSubject {
			text = s.Mail.Subject
		}
		if c.FilterBody {
			// The line break keeps a keyword from matching across the end of one and the start of the other.
			text += "\n" + s.Mail.Text
		}
		return c.byKeyword([]byte(text))
	case s.OverHTTP() && c.FilterHTTPBody:
		body := s.Filtered
		if body == nil {
			body = s.Body
		}
		return c.byKeyword(body[:min(len(body), keywords.MaxHTTPBody)])
	}
	return s.Kind
}

func (c Check) byKeyword(text []byte) pings.Kind {
	switch keywords.New(c.StartKW, c.SuccessKW, c.FailureKW).Classify(text) {
	case keywords.Failure:
		return pings.Fail
	case keywords.Success:
		return pings.Success
	case keywords.Start:
		return pings.Start
	}
	if c.FilterDefaultFail {
		return pings.Fail
	}
	return pings.Ignored
}
