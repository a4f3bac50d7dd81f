package sqlstore

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type accountRow struct {
	bun.BaseModel `bun:"table:rollcall_accounts,alias:a"`

	ID        int64  `bun:"id,pk,autoincrement"`
	Name      string `bun:"name"`
	Plan      string `bun:"plan"`
	MaxChecks int    `bun:"max_checks"`
}

type projectRow struct {
	bun.BaseModel `bun:"table:rollcall_projects,alias:p"`

	ID          uuid.UUID `bun:"id,pk"`
	AccountID   int64     `bun:"account_id"`
	Name        string    `bun:"name"`
	BadgeKey    string    `bun:"badge_key"`
	PingKey     string    `bun:"ping_key"`
	CreatedAt   int64     `bun:"created_at"`
	StormChecks int64     `bun:"storm_checks"`
	StormWindow int64     `bun:"storm_window"` // in seconds

	Account   string `bun:"account,scanonly"`
	Plan      string `bun:"plan,scanonly"`
	MaxChecks int    `bun:"max_checks,scanonly"`
}

func (r *projectRow) project() (checks.Project, error) {
	return checks.Project{
		Storm: gate.Storm{Checks: int(r.StormChecks), Window: time.Duration(r.StormWindow) * time.Second},
		ID:    r.ID, Name: r.Name, Account: r.Account, Plan: r.Plan, MaxChecks: r.MaxChecks,
		BadgeKey: r.BadgeKey, PingKey: r.PingKey, CreatedAt: instant(r.CreatedAt),
	}, nil
}

// Projects returns projects by name.
func (l lookup) Projects(ctx context.Context, f store.ProjectFilter) ([]checks.Project, error) {
	var where conditions
	addSet(&where, "p.id", f.ID)
	addSet(&where, "p.name", f.Name)
	addSet(&where, "p.ping_key", f.PingKey)
	addSet(&where, "p.badge_key", f.BadgeKey)
	return readAll(ctx, l, func(rows *[]projectRow) *bun.SelectQuery {
		return l.from.NewSelect().Model(rows).ColumnExpr("?TableColumns").ColumnExpr("a.name AS account, a.plan, a.max_checks").
			Join("JOIN rollcall_accounts AS a ON a.id = p.account_id").Where(where.String(), where.args...).OrderExpr("p.name")
	}, (*projectRow).project)
}

// SaveFirstProject adds a project unless there is one. It locks out other callers.
func (t *transaction) SaveFirstProject(ctx context.Context, p checks.Project) error {
	if err := t.s.d.advisoryLock(ctx, t.tx(), "rollcall projects"); err != nil {
		return err
	}
	exists, err := t.tx().NewSelect().Model((*projectRow)(nil)).Exists(ctx)
	if err != nil {
		return err
	}
	if exists {
		return checks.ErrExists
	}
	return t.SaveProject(ctx, p)
}

// SaveProject adds a project, and its account if that is new, or writes the name, the ping key and the settings of a project.
func (t *transaction) SaveProject(ctx context.Context, p checks.Project) error {
	account := accountRow{Name: p.Account, Plan: p.Plan, MaxChecks: p.MaxChecks}
	q := t.tx().NewInsert().Model(&account).Returning("id")
	if p.MaxChecks > 0 {
		q = q.On("CONFLICT (name, plan) DO UPDATE SET max_checks = EXCLUDED.max_checks")
	} else {
		q = q.On("CONFLICT (name, plan) DO UPDATE SET name = EXCLUDED.name") // returns its id
	}
	if err := q.Scan(ctx, &account.ID); err != nil {
		return translate(err)
	}
	row := projectRow{
		ID: p.ID, AccountID: account.ID, Name: p.Name, BadgeKey: p.BadgeKey, PingKey: p.PingKey, CreatedAt: micros(p.CreatedAt),
		StormChecks: int64(p.Storm.Checks), StormWindow: int64(p.Storm.Window / time.Second),
	}
	_, err := t.tx().NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").Set("name = EXCLUDED.name").Set("ping_key = EXCLUDED.ping_key").
		Set("storm_checks = EXCLUDED.storm_checks").Set("storm_window = EXCLUDED.storm_window").Exec(ctx)
	return translate(err)
}

// DeleteProject removes a project and all that belongs to it, and its account with the last project. PrunePings removes the logs
// of its checks.
func (t *transaction) DeleteProject(ctx context.Context, id uuid.UUID) error {
	if _, err := t.LockAccount(ctx, id); err != nil {
		return err
	}
	if err := t.layout.lockProject(ctx, t, id); err != nil {
		return err
	}
	for _, table := range []string{"rollcall_deliveries", "rollcall_flips", "rollcall_pauses", "rollcall_months", "rollcall_check_channels", "rollcall_states"} {
		_, err := t.tx().NewDelete().Table(table).
			Where("check_id IN (SELECT id FROM rollcall_checks WHERE project_id = ?)", id).Exec(ctx)
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"rollcall_checks", "rollcall_channels", "rollcall_status_pages", "rollcall_windows", "rollcall_keys"} {
		if _, err := t.tx().NewDelete().Table(table).Where("project_id = ?", id).Exec(ctx); err != nil {
			return err
		}
	}
	if _, err := t.tx().NewDelete().Table("rollcall_records").Where("owner = ?", id).Exec(ctx); err != nil {
		return err
	}
	var account int64
	if _, err := t.tx().NewDelete().Table("rollcall_projects").Where("id = ?", id).Returning("account_id").Exec(ctx, &account); err != nil {
		return err
	}
	// The account is locked, so no project joins it meanwhile.
	_, err := t.tx().NewRaw("DELETE FROM rollcall_accounts WHERE id = ?0 AND NOT EXISTS (SELECT 1 FROM rollcall_projects WHERE account_id = ?0)", account).Exec(ctx)
	return err
}

type keyRow struct {
	bun.BaseModel `bun:"table:rollcall_keys,alias:k"`

	ID        uuid.UUID `bun:"id,pk"`
	ProjectID uuid.UUID `bun:"project_id"`
	Scope     string    `bun:"scope"`
	Hash      []byte    `bun:"hash"`
	Hint      string    `bun:"hint"`
	CreatedAt int64     `bun:"created_at"`
	ExpiresAt int64     `bun:"expires_at,nullzero"`
}

func (r *keyRow) key() (checks.Key, error) {
	return checks.Key{
		ID: r.ID, ProjectID: r.ProjectID, Scope: checks.Scope(r.Scope), Hash: [32]byte(r.Hash), Hint: r.Hint, CreatedAt: instant(r.CreatedAt),
		ExpiresAt: instant(r.ExpiresAt),
	}, nil
}

// Keys returns API keys, oldest first.
func (l lookup) Keys(ctx context.Context, f store.KeyFilter) ([]checks.Key, error) {
	var where conditions
	addSet(&where, "k.project_id", f.ProjectID)
	if f.Hash != nil {
		where.add("k.hash", f.Hash[:])
	}
	if f.ExpiredAt != nil {
		where.equalities, where.args = append(where.equalities, "k.expires_at <= ?"), append(where.args, micros(*f.ExpiredAt))
	}
	return readAll(ctx, l, func(rows *[]keyRow) *bun.SelectQuery {
		return l.from.NewSelect().Model(rows).Where(where.String(), where.args...).OrderExpr("k.created_at, k.id")
	}, (*keyRow).key)
}

// SaveKey adds an API key.
func (t *transaction) SaveKey(ctx context.Context, k checks.Key) error {
	row := keyRow{
		ID: k.ID, ProjectID: k.ProjectID, Scope: string(k.Scope), Hash: k.Hash[:], Hint: k.Hint, CreatedAt: micros(k.CreatedAt),
		ExpiresAt: micros(k.ExpiresAt),
	}
	_, err := t.tx().NewInsert().Model(&row).Exec(ctx)
	return translate(err)
}

// DeleteKey removes an API key of a project.
func (t *transaction) DeleteKey(ctx context.Context, projectID, id uuid.UUID) error {
	return t.deleteOne(ctx, "rollcall_keys", projectID, id)
}

// deleteOne removes the row of a project with this identifier.
func (t *transaction) deleteOne(ctx context.Context, table string, projectID, id uuid.UUID) error {
	res, err := t.tx().NewDelete().Table(table).Where("project_id = ? AND id = ?", projectID, id).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return checks.ErrNotFound
	}
	return nil
}
