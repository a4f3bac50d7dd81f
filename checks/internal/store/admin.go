package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
)

// Admin is what package monitor needs.
type Admin interface {
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Checks returns checks with their Channels. The filter has an ID, a ProjectID or a BadgeKey. Each check has its
	// compiled schedule; see [checks.Plans.Attach].
	Checks(ctx context.Context, f CheckFilter) ([]checks.Check, error)
	// BySlug returns the project with a ping key and the IDs of its checks with a slug, the first added first. The error is
	// [checks.ErrNotFound] if there is no such project.
	BySlug(ctx context.Context, pingKey, slug string) (project uuid.UUID, ids []uuid.UUID, err error)
	// FindChecks returns the IDs of the checks of a project that m selects, the first added first.
	FindChecks(ctx context.Context, projectID uuid.UUID, m Match) ([]uuid.UUID, error)
	// Find returns things of one kind: projects by name, the others oldest first. The MaxChecks of a project is that of
	// its account; see [AdminTx].Save. Channels have the marks that RecordResults has set.
	Find(ctx context.Context, f Filter) (Found, error)
	// Setting returns what is in force under a name at an instant, or the zero value. If s has a Value, it is stored first,
	// unless there is another one in force. So all callers get the same value, also those that call at once. A setting is
	// also replaced if it has the same Value, which renews it, and if it ends after s: the clock of the server that stored it was
	// wrong. Settings that have ended are removed.
	Setting(ctx context.Context, now time.Time, s Setting) (Setting, error)
	// Records is that of [People].
	Records(ctx context.Context, now time.Time, q RecordQuery) ([]Record, error)
}

// AdminTx is the part of a transaction that package monitor needs.
type AdminTx interface {
	// LockAccount locks the account of a project and returns the project. The lock guards what depends on all checks of
	// the account: limits, uniqueness and the set of channels.
	LockAccount(ctx context.Context, projectID uuid.UUID) (checks.Project, error)
	// CountChecks returns how many checks the account of a project has, in all its projects.
	CountChecks(ctx context.Context, projectID uuid.UUID) (int, error)
	// LockCheck is that of [CourierTx].
	LockCheck(ctx context.Context, id uuid.UUID) (*Locked, error)
	// SaveChecks is that of [IngestTx].
	SaveChecks(ctx context.Context, locked []*Locked) error
	// Save adds the project (with First, unless there is any: the error is [checks.ErrExists]) or the key, or it adds or changes
	// the project, the channel or the status page, that s has. Of a project that is there, it writes the Name and the PingKey. The project and
	// CreatedAt of a thing never change. Errors: [checks.ErrExists] for the name or the ping key of a project, the hash of a key or the slug
	// of a page, in any project, that is in use; [checks.ErrNotFound] for the ID of another project's channel or page. For
	// an unknown project, the store may return any other error or none: the caller sees to it that there is one.
	//
	// The account of a project is its Account with its Plan: two projects belong to one account if both are equal. A
	// MaxChecks above 0 becomes that of the account, and so of all its projects. With 0 the account keeps what it has.
	//
	// Of a channel that is there, Save writes the Name, the Settings and the Sources. Only deliveries write FailedAt and
	// Error. Of a page, it writes the Slug, the Title, the Description and the Tags.
	Save(ctx context.Context, s Setup) error
	// Delete removes what s has, by its ID and its ProjectID. The error is [checks.ErrNotFound] for a thing of another project.
	//   - A check goes with its flips, totals and deliveries. Nobody can read its pings from then on, although PrunePings may
	//     remove them later. Another check with the same ID may be added.
	//   - A project goes with its checks, its channels, its status pages and its API keys.
	//   - A channel goes with its deliveries, and from all checks. Transactions that add deliveries meanwhile leave none
	//     behind.
	Delete(ctx context.Context, s Setup) error
	// FindChecks is that of [Admin].
	FindChecks(ctx context.Context, projectID uuid.UUID, m Match) ([]uuid.UUID, error)
	// Find is that of [Admin].
	Find(ctx context.Context, f Filter) (Found, error)
	// SaveAudit is that of [PeopleTx].
	SaveAudit(ctx context.Context, entries ...audit.Entry) error
	// Spools is that of [IngestTx].
	Spools(ctx context.Context) (states []SpoolState, oldest time.Time, err error)
}
