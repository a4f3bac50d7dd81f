package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"strings"

	"github.com/uptrace/bun"
)

// among returns the condition that a column has one of several values. Its only parameter comes from dialect.list.
func (d dialect) among(column, pgType string) string {
	if d.postgres {
		return column + " = ANY ($1::" + pgType + "[])"
	}
	return column + " IN (SELECT value FROM json_each(?))"
}

// anyOf is among with bun's placeholder.
func (d dialect) anyOf(column, pgType string) string {
	return strings.Replace(d.among(column, pgType), "$1", "?", 1)
}

// scanList scans each row into the given fields of row and collects copies of row. It takes the two results of the
// query. For thousands of rows it is three times as fast as bun.
func scanList[T any](rows *sql.Rows, err error, row *T, fields ...any) (list []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return nil, err
		}
		list = append(list, *row)
	}
	return list, rows.Err()
}

// readAll runs a query into rows and converts them.
func readAll[R, T any](ctx context.Context, l lookup, query func(rows *[]R) *bun.SelectQuery, convert func(*R) (T, error)) ([]T, error) {
	var rows []R
	if err := query(&rows).Scan(ctx); err != nil {
		return nil, l.translate(err)
	}
	list := make([]T, len(rows))
	for i := range rows {
		var err error
		if list[i], err = convert(&rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// conditions collects the equalities of a WHERE clause, for bun's placeholders.
type conditions struct {
	equalities []string
	args       []any
}

func (c *conditions) add(column string, value any) {
	c.equalities, c.args = append(c.equalities, column+" = ?"), append(c.args, value)
}

// String returns the clause. Without conditions it matches all rows.
func (c *conditions) String() string {
	return cmp.Or(strings.Join(c.equalities, " AND "), "TRUE")
}

// addSet adds a condition unless the value is nil.
func addSet[T any](c *conditions, column string, value *T) {
	if value != nil {
		c.add(column, *value)
	}
}
