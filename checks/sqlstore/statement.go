package sqlstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// statement is a statement as the text for each database.
type statement struct{ sqlite, postgres string }

// text returns the text for the database.
func (d dialect) text(s statement) string {
	if d.postgres {
		return s.postgres
	}
	return s.sqlite
}

// list turns numbers or UUIDs into one parameter, so that the text of the query does not depend on their number.
func (d dialect) list(values any) string {
	text, _ := json.Marshal(values) // cannot fail for these types
	if d.postgres {
		text[0], text[len(text)-1] = '{', '}' // a PostgreSQL array; JSON's quotes suit these types
	}
	return string(text)
}

// reserve returns n identifiers, in ascending order, for new rows of a table.
func (d dialect) reserve(ctx context.Context, db querier, table string, n int) ([]int64, error) {
	if n == 0 {
		return nil, nil
	}
	var id int64
	if d.postgres {
		rows, err := db.QueryContext(ctx, "SELECT nextval('"+table+"_ids') FROM generate_series(1, $1::int)", n)
		return scanList(rows, err, &id, &id)
	}
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM "+table).Scan(&id); err != nil {
		return nil, err
	}
	ids := make([]int64, n)
	for i := range ids {
		id++
		ids[i] = id
	}
	return ids, nil
}

// exec runs a statement for rows, each with its values in the order of the parameters. SQLite runs it once for each row.
// PostgreSQL runs it once: each parameter is an array with one column of all rows. Its text should unnest them in the
// SELECT list, where PostgreSQL streams rows: in FROM it stores each array first, which takes four times as long.
func (d dialect) exec(ctx context.Context, tx bun.Tx, s statement, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if d.postgres {
		_, err := tx.Tx.ExecContext(ctx, s.postgres, arrays(rows)...)
		return err
	}
	stmt, err := tx.Tx.PrepareContext(ctx, s.sqlite)
	if err != nil {
		return err
	}
	defer stmt.Close()
	// For a cancellable context, SQLite's driver starts a goroutine for each statement, which costs as much as the
	// statement.
	within := context.WithoutCancel(ctx)
	for _, row := range rows {
		if _, err := stmt.ExecContext(within, row...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// arrays returns the columns of rows, each as the text of a PostgreSQL array, which every driver can send.
func arrays(rows [][]any) []any {
	columns := make([]any, len(rows[0]))
	var text []byte
	for i := range columns {
		text = append(text[:0], '{')
		for n, row := range rows {
			if n > 0 {
				text = append(text, ',')
			}
			text = appendElement(text, row[i])
		}
		columns[i] = string(append(text, '}'))
	}
	return columns
}

// appendElement appends a value to the text of a PostgreSQL array.
func appendElement(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "NULL"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case uuid.NullUUID:
		if !v.Valid {
			return append(b, "NULL"...)
		}
		return append(b, v.UUID.String()...)
	case []byte:
		return append(hex.AppendEncode(append(b, `"\\x`...), v), '"')
	case string:
		b = append(b, '"')
		for i := range len(v) {
			if v[i] == '"' || v[i] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, v[i])
		}
		return append(b, '"')
	}
	panic(fmt.Sprintf("sqlstore: cannot make an array of %T", value))
}
