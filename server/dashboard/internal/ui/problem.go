package ui

import (
	"html/template"
	"strings"
)

// Problem is why a form was refused. The template "problem" shows it, with the focus and so in view, with a link to the field.
type Problem struct {
	Text  string // a sentence, "" for none
	Field string // the identifier of the field on the page, "" if none is at fault
}

// Mark returns the attributes that mark a field as the one at fault. Hints are the identifiers of what describes it in any case.
func (p Problem) Mark(field string, hints ...string) template.HTMLAttr {
	if p.Text != "" && p.Field == field {
		return template.HTMLAttr(` aria-invalid="true" aria-describedby="` + strings.Join(append([]string{"problems"}, hints...), " ") + `"`)
	}
	if len(hints) > 0 {
		return template.HTMLAttr(` aria-describedby="` + strings.Join(hints, " ") + `"`)
	}
	return ""
}

// Problems is why a form was refused that has a text at each field that is wrong. The template "problems" shows it like
// "problem".
type Problems struct {
	Title, Text string
	Fields      []Problem
}
