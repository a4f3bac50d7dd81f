package ui_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

func newForm() ui.Form {
	return ui.Form{Was: "a", Fields: []ui.Field{
		{Name: "name", Label: "Name"}, {Name: "email", Setting: "e-mail", Label: "E-mail", Called: "The address", ID: "mail", Hint: "x", Described: "other"},
		{Name: "note", Rows: 2}, {Name: "password", Type: "password"},
	}}
}

// TestForm reads what was typed. A password is not shown again.
func TestForm(t *testing.T) {
	f := newForm()
	f.Read(url.Values{"name": {" a b "}, "note": {" x\n"}, "password": {"secret"}, "was": {"b"}})
	if diff := cmp.Diff([]string{"a b", "", " x\n", "", "b"}, []string{f.Value("name"), f.Value("email"), f.Value("note"), f.Value("password"), f.Was}); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if f.Read(nil); f.Was != "b" {
		t.Errorf("was %q", f.Was)
	}
}

// TestWrongWithoutField: what is wrong with no field in particular stands above the form, and marks none.
func TestWrongWithoutField(t *testing.T) {
	f := newForm()
	if f.Wrong("", "Too many attempts."); f.Problem != "Too many attempts." || f.Errors() != nil {
		t.Errorf("%+v", f)
	}
}

// TestRefuse: an error of the library is at its field, in the words of the page. Screen readers find it from there.
func TestRefuse(t *testing.T) {
	f := newForm()
	if f.Refuse(nil) != 0 || f.Refuse(errors.New("x")) != 0 || f.Refuse(checks.ErrExists) != 0 || f.Refused() {
		t.Error("refused for nothing")
	}
	for _, test := range []struct{ field, name, want, mark string }{
		{"name", "name", "Name is empty.", ` aria-invalid="true" aria-describedby="name-wrong"`},
		{"e-mail", "email", "The address is empty.", ` aria-invalid="true" aria-describedby="mail-wrong mail-hint other"`},
	} {
		f := newForm()
		if f.Refuse(&checks.FieldError{Field: test.field, Reason: "is empty"}) != http.StatusBadRequest || !f.Refused() || len(f.Errors()) != 1 {
			t.Errorf("%s: not refused: %+v", test.field, f)
		}
		if got := f.Field(test.name); got.Error != test.want || string(got.Mark()) != test.mark {
			t.Errorf("%s: %q, %q", test.field, got.Error, got.Mark())
		}
	}
	if mark := f.Field("name").Mark(); mark != "" {
		t.Errorf("a field is marked: %q", mark)
	}
	if f.Refuse(&checks.FieldError{Field: "project", Reason: "is full"}) != http.StatusConflict || f.Problem != "The project is full." || f.Errors() != nil {
		t.Errorf("%+v", f)
	}
	f.Find("name").Taken = "There is one."
	if f.Refuse(checks.ErrExists) != http.StatusConflict || f.Field("name").Error != "There is one." {
		t.Errorf("%+v", f)
	}
}

// TestConflict: what another person has changed since is not overwritten unless the form is sent again.
func TestConflict(t *testing.T) {
	f := newForm()
	if err := f.Conflict("a"); err != nil {
		t.Error(err)
	}
	err := f.Conflict("b")
	if err == nil || f.Refuse(err) != http.StatusConflict || !f.Refused() || f.Was != "b" {
		t.Errorf("%v, %+v", err, f)
	}
	if err := f.Conflict("b"); err != nil {
		t.Error(err)
	}
}
