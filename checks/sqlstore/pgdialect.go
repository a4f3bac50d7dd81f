package sqlstore

import (
	"database/sql"

	bundialect "github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/feature"
	"github.com/uptrace/bun/schema"
)

// pgDialect is bun's dialect of PostgreSQL, as far as the store's queries need it. Bun's own package pgdialect would link
// bun's migrations and text/template into every program, also into those with SQLite.
type pgDialect struct {
	schema.BaseDialect
	tables *schema.Tables
}

func newPGDialect() schema.Dialect {
	d := new(pgDialect)
	d.tables = schema.NewTables(d)
	return d
}

func (*pgDialect) Init(*sql.DB)             {}
func (*pgDialect) Name() bundialect.Name    { return bundialect.PG }
func (d *pgDialect) Tables() *schema.Tables { return d.tables }
func (*pgDialect) OnTable(*schema.Table)    {} // types of columns, for CREATE TABLE only
func (*pgDialect) IdentQuote() byte         { return '"' }
func (*pgDialect) DefaultVarcharLen() int   { return 0 }
func (*pgDialect) DefaultSchema() string    { return "public" }

// AppendSequence is for CREATE TABLE, which migrations do in plain SQL.
func (*pgDialect) AppendSequence(b []byte, _ *schema.Table, _ *schema.Field) []byte { return b }

// Features returns what bun may use in queries.
func (*pgDialect) Features() feature.Feature {
	return feature.CTE | feature.WithValues | feature.Returning | feature.InsertReturning | feature.DeleteReturning |
		feature.DefaultPlaceholder | feature.DoubleColonCast | feature.InsertTableAlias | feature.UpdateTableAlias |
		feature.DeleteTableAlias | feature.InsertOnConflict | feature.SelectExists | feature.CompositeIn
}
