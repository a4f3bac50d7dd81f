package checks

import (
	"github.com/rollcall-dev/rollcall/keywords"
	"github.com/rollcall-dev/rollcall/pings"
)

// Classify returns the kind that the check gives to a signal, by its methods and its keywords. Where
// filtering is enabled, keywords alone decide: even a fail signal is ignored if no keyword matches. A signal given in
// process is neither HTTP nor e-mail, and keeps its kind. An automatic message, such as a bounce, is ignored in any case. A signal is valid by [pings.Signal.Normalized].
func (c Check) Classify(s pings.Signal) pings.Kind {
	overHTTP := s.Scheme == pings.SchemeHTTP || s.Scheme == pings.SchemeHTTPS
	if overHTTP && c.Methods == "POST" && s.Method != "POST" {
		return pings.Ignored
	}
	switch {
	case s.Mail != nil && s.Mail.Automatic != "":
		return pings.Ignored
	case s.Mail != nil && (c.FilterSubject || c.FilterBody):
		var text string
		if c.FilterSubject {
			text = s.Mail.Subject
		}
		if c.FilterBody {
			text += "\x00" + s.Mail.Text // no keyword has a NUL, so none matches across the end of the subject
		}
		return c.byKeyword([]byte(text))
	case overHTTP && c.FilterHTTPBody:
		if s.Filtered != nil {
			return c.byKeyword(s.Filtered)
		}
		return c.byKeyword(s.Body[:min(len(s.Body), keywords.MaxHTTPBody)])
	}
	return s.Kind
}

func (c Check) byKeyword(text []byte) pings.Kind {
	switch keywords.New(c.StartKW, c.SuccessKW, c.FailureKW).Classify(text) {
	case keywords.Failure:
		return pings.Failure
	case keywords.Success:
		return pings.Success
	case keywords.Start:
		return pings.Start
	}
	if c.FilterDefaultFail {
		return pings.Failure
	}
	return pings.Ignored
}
