package manage

import (
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// list is how documents are listed in a table: a column has a title and the cell of a document. In JSON, the list is an array of the
// documents.
type list[D any] []column[D]

// column is a column of a [list].
type column[D any] struct {
	Title string
	cell  func(D) string
}

// print writes documents as JSON if the flag is set, and otherwise as a table.
func (l list[D]) print(f console.JSONFlag, w io.Writer, documents []D) error {
	return f.Print(w, documents, func(w io.Writer) { l.table(w, documents...) })
}

// table writes documents as a table.
func (l list[D]) table(w io.Writer, documents ...D) {
	rows := make([][]string, 1+len(documents))
	for _, c := range l {
		rows[0] = append(rows[0], c.Title)
		for i, d := range documents {
			rows[i+1] = append(rows[i+1], c.cell(d))
		}
	}
	console.Table(w, rows...)
}

// each returns the documents of items. It is never nil, so that no items are an empty array in JSON.
func each[T, D any](items []T, document func(T) D) []D {
	documents := make([]D, len(items))
	for i, item := range items {
		documents[i] = document(item)
	}
	return documents
}

// keys returns the keys of a document for a help text, such as {"id", "name"}.
func keys[D any]() string {
	var names []string
	for field := range reflect.TypeFor[D]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			for embedded := range field.Type.Fields() {
				names = append(names, strconv.Quote(embedded.Tag.Get("json")))
			}
		case name != "" && name != "-":
			names = append(names, strconv.Quote(name))
		}
	}
	return "{" + strings.Join(names, ", ") + "}"
}
