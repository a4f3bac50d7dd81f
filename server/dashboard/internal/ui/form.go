package ui

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// Form is a form of a page, with what was typed and what is wrong with it. The template "refused" lists what is wrong, with the
// focus and with links to the fields, and "field" draws a field.
type Form struct {
	// Title is that of the list of problems, such as "Not saved", or "".
	Title string
	// Problem is what is wrong with no field in particular: a sentence, or "".
	Problem string
	Fields  []Field // in the order of the page
	// Was is the "was" of the page, the [Fingerprint] of what the viewer has seen. See [Form.Conflict].
	Was string
}

// Field is a field of a form. A page that draws it by itself needs its names and its label alone.
type Field struct {
	// Name is the name of the input. ID is its identifier on the page, and Setting that of a [checks.FieldError], if they differ.
	Name, ID, Setting string
	// Label is the label, and Called the subject of a sentence about an error, if it differs.
	Label, Called string
	Taken         string // what is wrong if another thing has the value, a sentence
	Optional      bool   // the label says so
	Confirm       string // what must be typed to confirm a deletion; the label shows it
	// Hint is shown below the input. Described are the identifiers of other elements that describe it.
	Hint, Described string
	Class           string // of the field
	// Type is that of an input, Rows the height of a text of several lines, and Options are those of a list to choose from.
	Type    string
	Rows    int
	Options []Choice
	Attrs   template.HTMLAttr // other attributes of the input
	Secret  bool              // nobody looking on may read it; a box below shows it
	// Box is what a checkbox asks for, and Sent its value if it is ticked, "on" if empty.
	Box, Sent string

	Value, Error string // what was typed, unless it is secret; and the sentence that says what is wrong with it
}

// At is the identifier of the input.
func (f Field) At() string { return cmp.Or(f.ID, f.Name) }

// Mark returns the attributes that mark the input as wrong, and name what describes it.
func (f Field) Mark() template.HTMLAttr {
	var by []string
	mark := ""
	if f.Error != "" {
		mark, by = ` aria-invalid="true"`, append(by, f.At()+"-wrong")
	}
	if f.Hint != "" {
		by = append(by, f.At()+"-hint")
	}
	if f.Described != "" {
		by = append(by, f.Described)
	}
	if by != nil {
		mark += ` aria-describedby="` + template.HTMLEscapeString(strings.Join(by, " ")) + `"`
	}
	return template.HTMLAttr(mark)
}

// Read takes over what was typed, without blanks around a text of one line.
func (f *Form) Read(typed url.Values) {
	f.Was = cmp.Or(typed.Get("was"), f.Was)
	for i := range f.Fields {
		switch field := &f.Fields[i]; {
		case field.Secret, field.Type == "password":
		case field.Rows > 0:
			field.Value = typed.Get(field.Name)
		default:
			field.Value = strings.TrimSpace(typed.Get(field.Name))
		}
	}
}

// Find returns the field with a name, or of a setting, or nil. "" is the name of none.
func (f Form) Find(name string) *Field {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return name != "" && (field.Name == name || field.Setting == name) })
	if i < 0 {
		return nil
	}
	return &f.Fields[i]
}

// Field returns a field that the form has, for a template.
func (f Form) Field(name string) Field { return *f.Find(name) }

// Value returns what was typed into a field.
func (f Form) Value(name string) string { return f.Field(name).Value }

// Wrong says in a sentence what is wrong with a field, or with the form if it has no such field.
func (f *Form) Wrong(name, sentence string) {
	if field := f.Find(name); field != nil {
		field.Error = sentence
	} else {
		f.Problem = sentence
	}
}

// Refuse says what an error means that is about what was typed: a [*checks.FieldError], [checks.ErrExists] if a field has a text for
// it, or an error of [Form.Conflict]. It returns the status of the answer, or 0 for any other error.
func (f *Form) Refuse(err error) int {
	if found, ok := errors.AsType[*conflict](err); ok {
		f.Was, f.Problem = found.now, "Someone else has changed this since you opened the page. Save again to replace their values."
		return http.StatusConflict
	}
	if i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Taken != "" }); i >= 0 && errors.Is(err, checks.ErrExists) {
		f.Fields[i].Error = f.Fields[i].Taken
		return http.StatusConflict
	}
	found, ok := errors.AsType[*checks.FieldError](err)
	if !ok {
		return 0
	}
	field := f.Find(found.Field)
	if field == nil {
		f.Problem = "The " + found.Error() + "."
		return http.StatusConflict
	}
	if zone, ok := errors.AsType[*schedule.Error](found.Err); ok && found.Field == "tz" {
		field.Error = words.ZoneProblem(zone)
		return http.StatusBadRequest
	}
	field.Error = cmp.Or(field.Called, field.Label) + " " + found.Reason + "."
	return http.StatusBadRequest
}

// Refused reports whether something is wrong with the form.
func (f Form) Refused() bool { return f.Problem != "" || f.Errors() != nil }

// Errors are the fields that something is wrong with.
func (f Form) Errors() (list []Field) {
	for _, field := range f.Fields {
		if field.Error != "" {
			list = append(list, field)
		}
	}
	return list
}

// conflict is the error of [Form.Conflict]. now is the fingerprint of what is stored.
type conflict struct{ now string }

func (*conflict) Error() string { return "somebody has changed the same since the page was opened" }

// Conflict returns an error if somebody has changed what the form shows since the page was opened: if now, the [Fingerprint] of
// what is stored, is not Was. The page that then says so has now in its field "was", so that to save again replaces that.
func (f Form) Conflict(now string) error {
	if f.Was == now {
		return nil
	}
	return &conflict{now}
}

// Fingerprint returns the "was" of a form that is saved as a whole, from the texts that it shows.
func Fingerprint(texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	return hex.EncodeToString(sum[:8])
}
