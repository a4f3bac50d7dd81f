package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
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

// pingStatements lists SQLite's statements of a ping, which take longer to compile than to run. The store keeps them compiled on
// each connection that runs them.
var pingStatements = []string{lockSQLite, lockStates.sqlite, lastID + "rollcall_pings", insertPings.sqlite, updateStates.sqlite}

// compile compiles the statements of a ping, outside of a transaction: a pool of one connection has no other. A statement
// that fails here fails again when a ping needs it.
func (s *database) compile(ctx context.Context) {
	if s.d.postgres {
		return
	}
	if s.compiled == nil {
		s.compiled = make(map[string]*sql.Stmt)
	}
	for _, text := range pingStatements {
		if s.compiled[text] != nil {
			continue
		}
		if stmt, err := s.db.DB.PrepareContext(ctx, text); err == nil {
			s.compiled[text] = stmt
		}
	}
}

// prepare returns a statement for SQLite, which ends with the transaction at the latest. Run it without cancellation: for a
// cancellable context the driver starts a goroutine for each statement, which costs as much as the statement.
func (t *transaction) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt := t.s.compiled[text]; stmt != nil {
		return t.conn.Tx.StmtContext(ctx, stmt), nil
	}
	return t.conn.Tx.PrepareContext(ctx, text)
}

const lastID = "SELECT coalesce(max(id), 0) FROM "

// reserve returns n identifiers, in ascending order, for new rows of a table.
func (t *transaction) reserve(ctx context.Context, table string, n int) ([]int64, error) {
	if n == 0 {
		return nil, nil
	}
	var id int64
	if t.s.d.postgres {
		next := "SELECT nextval('" + table + "_ids') FROM generate_series(1, $1::int)"
		if t.direct {
			return t.reserveDirect(ctx, next, n)
		}
		rows, err := t.conn.Tx.QueryContext(ctx, next, n)
		return scanList(rows, err, &id, &id)
	}
	stmt, err := t.prepare(ctx, lastID+table)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	if err := stmt.QueryRowContext(context.WithoutCancel(ctx)).Scan(&id); err != nil {
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
func (t *transaction) exec(ctx context.Context, s statement, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if t.s.d.postgres {
		_, err := t.tx().Tx.ExecContext(ctx, s.postgres, arrays(rows)...)
		return err
	}
	stmt, err := t.prepare(ctx, s.sqlite)
	if err != nil {
		return err
	}
	defer stmt.Close()
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
	case uuid.UUID:
		return append(b, v.String()...)
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
