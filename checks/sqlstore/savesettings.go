package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// written are the settings and the channels of a check as the database has them.
type written struct {
	settings []any
	channels []uuid.UUID
}

var (
	insertSettings = statement{
		sqlite: "INSERT INTO rollcall_checks (" + strings.Join(savedColumns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(savedColumns)-1) + ") RETURNING id",
		postgres: "INSERT INTO rollcall_checks (" + strings.Join(savedColumns, ", ") + ") SELECT " + unnested(savedTypes, func(i int) string { return "" }) +
			" RETURNING id, uuid",
	}
	// updateSettings has the key of the row as its last parameter.
	updateSettings = statement{
		sqlite: "UPDATE rollcall_checks SET " + strings.Join(savedColumns, " = ?, ") + " = ? WHERE id = ?",
		postgres: "UPDATE rollcall_checks AS c SET " + assignments(savedColumns) + " FROM (SELECT " +
			unnested(append(slices.Clone(savedTypes), "bigint"), func(i int) string { return " AS v" + strconv.Itoa(i) }) +
			fmt.Sprintf(") AS v WHERE c.id = v.v%d AND c.id = ANY ($%d::bigint[])", len(savedColumns), len(savedColumns)+1),
	}
	insertStates = statement{
		sqlite:   "INSERT INTO rollcall_states (check_id, n_pings) VALUES (?, 0)",
		postgres: "INSERT INTO rollcall_states (check_id, n_pings) SELECT unnest($1::bigint[]), 0",
	}
	unassign = statement{
		sqlite:   "DELETE FROM rollcall_check_channels WHERE check_id = ?",
		postgres: "DELETE FROM rollcall_check_channels WHERE check_id = ANY ($1::bigint[])",
	}
	assign = statement{
		sqlite:   "INSERT INTO rollcall_check_channels (check_id, channel_id) VALUES (?, ?)",
		postgres: "INSERT INTO rollcall_check_channels (check_id, channel_id) SELECT unnest($1::bigint[]), unnest($2::uuid[])",
	}
)

// unnested returns the parameters of a statement, which are arrays of these types, as columns.
func unnested(types []string, name func(i int) string) string {
	columns := make([]string, len(types))
	for i, of := range types {
		columns[i] = fmt.Sprintf("unnest($%d::%s[])%s", i+1, of, name(i))
	}
	return strings.Join(columns, ", ")
}

// assignments returns what sets columns to those of unnested.
func assignments(columns []string) string {
	list := make([]string, len(columns))
	for i, column := range columns {
		list[i] = fmt.Sprintf("%s = v.v%d", column, i)
	}
	return strings.Join(list, ", ")
}

// saveSettings writes the settings and channels of locked checks, as far as they have changed. For new checks, it adds the rows,
// whose states saveStates then writes.
func (t *transaction) saveSettings(ctx context.Context, locked []*store.Locked) error {
	var fresh []*store.Locked
	var settings, left, assigned [][]any
	for _, l := range locked {
		if l.Row == nil {
			fresh = append(fresh, l)
			continue
		}
		if !l.SettingsChanged {
			continue
		}
		row := l.Row.(*lockedRow)
		if l.MovedFrom != uuid.Nil {
			if err := cmp.Or(t.leaveProject(ctx, row.id, l.MovedAt), t.forgetInWindows(ctx, l.MovedFrom, l.ID)); err != nil {
				return err
			}
			l.MovedFrom = uuid.Nil
		}
		now := settingValues(l.Check)
		if row.was == nil || !slices.Equal(row.was.settings, now) {
			settings = append(settings, append(now, row.id))
		}
		if channels := assignedTo(l); row.was == nil || !slices.Equal(row.was.channels, channels) {
			left = append(left, []any{row.id})
			assigned = appendAssigned(assigned, row.id, channels)
		}
		row.was, l.SettingsChanged = nil, false
	}
	if err := t.insertChecks(ctx, fresh); err != nil {
		return err
	}
	for _, l := range fresh {
		assigned = appendAssigned(assigned, l.Row.(*lockedRow).id, assignedTo(l))
		l.SettingsChanged = false
	}
	if err := t.exec(ctx, updateSettings, settings); err != nil {
		return err
	}
	if err := t.exec(ctx, unassign, left); err != nil {
		return err
	}
	return t.exec(ctx, assign, assigned)
}

// assignedTo returns the channels of a check. The ID of its project stands for the first channel that the project will have.
func assignedTo(l *store.Locked) []uuid.UUID {
	if l.Awaits {
		return []uuid.UUID{l.ProjectID}
	}
	return l.Channels
}

// appendAssigned appends the rows of assign for a check.
func appendAssigned(rows [][]any, key int64, ids []uuid.UUID) [][]any {
	for _, id := range ids {
		rows = append(rows, []any{key, id})
	}
	return rows
}

// insertChecks adds the rows of new checks, in their order.
func (t *transaction) insertChecks(ctx context.Context, fresh []*store.Locked) error {
	if len(fresh) == 0 {
		return nil
	}
	rows, keys := make([][]any, len(fresh)), make(map[uuid.UUID]int64, len(fresh))
	for i, l := range fresh {
		rows[i] = settingValues(l.Check)
	}
	if t.s.d.postgres {
		found, err := t.tx().Tx.QueryContext(ctx, insertSettings.postgres, arrays(rows)...)
		var row checkKey
		added, err := scanList(found, err, &row, &row.id, &row.uuid)
		if err != nil {
			return err
		}
		for _, k := range added {
			keys[k.uuid] = k.id
		}
	} else {
		stmt, err := t.prepare(ctx, insertSettings.sqlite)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for i, l := range fresh {
			var key int64
			if err := stmt.QueryRowContext(context.WithoutCancel(ctx), rows[i]...).Scan(&key); err != nil {
				return err
			}
			keys[l.ID] = key
		}
	}
	states := make([][]any, len(fresh))
	for i, l := range fresh {
		states[i] = []any{keys[l.ID]}
		l.Row = &lockedRow{id: keys[l.ID]}
	}
	return t.exec(ctx, insertStates, states)
}
