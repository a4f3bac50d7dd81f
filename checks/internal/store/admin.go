package store

import (
	"context"
	"crypto/sha256"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// Admin is what package monitor needs.
type Admin interface {
	Lookup
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Checks returns checks with their Channels. The filter has an ID, IDs, a ProjectID or a BadgeKey. Each check has its
	// compiled schedule; see [checks.Plans.Attach].
	Checks(ctx context.Context, f CheckFilter) ([]checks.Check, error)
	// EachCheck yields the checks of a project like Checks, but reads them in steps, between which nothing is open. Checks
	// that are added meanwhile may be missing; each of the others comes once, as it is when it is read. After an error it ends.
	EachCheck(ctx context.Context, f CheckFilter) iter.Seq2[checks.Check, error]
	// TagSets counts the checks that the filter selects, by their tags and the status that they have at an instant, without
	// reading them. The filter has a ProjectID, and may have Tags.
	TagSets(ctx context.Context, f CheckFilter, now time.Time) ([]checks.TagSet, error)
	// BySlug returns the project with a ping key and the IDs of its checks with a slug, the first added first. The error is
	// [checks.ErrNotFound] if there is no such project.
	BySlug(ctx context.Context, pingKey, slug string) (project uuid.UUID, ids []uuid.UUID, err error)
	// Setting returns what is in force under a name at an instant, or the zero value. If s has a Value, it is stored first,
	// unless there is another one in force. So all callers get the same value, also those that call at once. A setting is
	// also replaced if it has the same Value, which renews it, and if it ends after s: the clock of the server that stored it was
	// wrong. Settings that have ended are removed.
	Setting(ctx context.Context, now time.Time, s Setting) (Setting, error)
	// Records is that of [Records].
	Records(ctx context.Context, now time.Time, q records.Query) ([]records.Record, error)
	// Rest waits between the transactions of a long piece of work, for as long as other processes on the database need to get their
	// turn. Those of this process get it in any case: transactions that wait begin in the order in which they came.
	Rest(ctx context.Context)
}

// AdminTx is the part of a transaction that package monitor needs. The project and CreatedAt of a thing never change. A method
// that changes or deletes a thing of another project fails with [checks.ErrNotFound]. For an unknown project, a method that saves
// may return any other error or none: the caller sees to it that there is one.
type AdminTx interface {
	Lookup
	// LockAccount locks the account of a project and returns the project. The lock guards what depends on all checks of
	// the account: limits, uniqueness and the set of channels.
	LockAccount(ctx context.Context, projectID uuid.UUID) (checks.Project, error)
	// CountChecks returns how many checks the account of a project has, in all its projects.
	CountChecks(ctx context.Context, projectID uuid.UUID) (int, error)
	// LockCheck is that of [CourierTx].
	LockCheck(ctx context.Context, id uuid.UUID) (*Locked, error)
	// LockWhole is LockCheck for several checks: it returns those that exist, in any order. Each ID comes once.
	LockWhole(ctx context.Context, ids []uuid.UUID) ([]*Locked, error)
	// SaveChecks is that of [IngestTx].
	SaveChecks(ctx context.Context, locked []*Locked) error
	// DeleteChecks removes locked checks with their flips, totals and deliveries. Nobody can read their pings from then on,
	// although PrunePings may remove them later. Another check with the same ID may be added. Windows do not name them any more, and
	// one that was about nothing else goes.
	DeleteChecks(ctx context.Context, locked ...*Locked) error
	// Change notes what somebody changes, and returns what makes it: so no change is made without. Of changes of checks, which
	// SaveChecks and DeleteChecks make, it is only for the audit log.
	Change(ctx context.Context, list ...Change) (Writer, error)
	// Spools is that of [IngestTx].
	Spools(ctx context.Context) (states []SpoolState, oldest time.Time, err error)
}

// Change says once what somebody changes: for the audit log, for the feed of changes, and for alerts that wait.
type Change struct {
	// Entry is that of the audit log. It has none without At.
	audit.Entry
	// Kinds are those of the feed for the project, and with AllChecks for each of its checks. 0 leaves that to SaveChecks.
	Kinds     checks.ChangeKind
	AllChecks bool
	// Releases makes the transaction end with ReleaseHeld. Changes of checks do so in any case.
	Releases bool
}

// Writer makes changes of what people set up, but for checks.
type Writer interface {
	// SaveProject adds a project, or writes the Name, the PingKey and Storm of one that is there. The error is [checks.ErrExists] for a name or
	// a ping key that is in use.
	//
	// The account of a project is its Account with its Plan: two projects belong to one account if both are equal. A
	// MaxChecks above 0 becomes that of the account, and so of all its projects. With 0 the account keeps what it has.
	SaveProject(ctx context.Context, p checks.Project) error
	// SaveFirstProject is SaveProject for an empty database: if there is any project, the error is [checks.ErrExists].
	SaveFirstProject(ctx context.Context, p checks.Project) error
	// DeleteProject removes a project with its checks, its channels, its status pages and its API keys. With the last project of an
	// account it removes that too, with its MaxChecks. The error is [checks.ErrNotFound] if there is no such project.
	DeleteProject(ctx context.Context, id uuid.UUID) error
	// SaveKey adds an API key. The error is [checks.ErrExists] for a hash that is in use.
	SaveKey(ctx context.Context, k checks.Key) error
	// DeleteKey removes an API key of a project.
	DeleteKey(ctx context.Context, projectID, id uuid.UUID) error
	// SaveChannel adds a channel, or writes the Name, the Settings and the Sources of one that is there. Only deliveries write
	// FailedAt and Error.
	SaveChannel(ctx context.Context, c channels.Channel) error
	// DeleteChannel removes a channel of a project with its deliveries, and from all checks. Transactions that add deliveries
	// meanwhile leave none behind.
	DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error
	// SaveStatusPage adds a status page, or writes all but the ID, ProjectID and CreatedAt of one that is there. The
	// error is [checks.ErrExists] for a slug that is in use, in any project.
	SaveStatusPage(ctx context.Context, p checks.StatusPage) error
	// DeleteStatusPage removes a status page of a project.
	DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error
	// SaveWindow adds a window, or replaces one of its project. Its last occurrence ends at an instant; the zero time is never.
	SaveWindow(ctx context.Context, w Window, ends time.Time) error
	// DeleteWindow removes a window of a project.
	DeleteWindow(ctx context.Context, projectID, id uuid.UUID) error
	// SaveEscalation replaces the escalation policy of a project; no steps are none.
	SaveEscalation(ctx context.Context, projectID uuid.UUID, steps []gate.Step) error
}

// HeldTx is the part of a transaction that package feed needs.
type HeldTx interface {
	// ReleaseHeld makes the deliveries of a project due at an instant that the gate keeps back. It also adds a delivery of the alert
	// about each outage that goes on to each channel that gets the alerts of the check by now, has none and wants it: one that is kept
	// back until its step, counted from the alert. What the gate keeps back for a channel that gets the alerts of the check no more ends
	// as skipped, unless it was tried; its reminders are removed.
	ReleaseHeld(ctx context.Context, projectID uuid.UUID, now time.Time) error
}

// Lookup reads what people set up. In a transaction, it sees what the transaction has written.
type Lookup interface {
	// Projects returns projects by name. The MaxChecks of a project is that of its account; see [AdminTx].SaveProject.
	Projects(ctx context.Context, f ProjectFilter) ([]checks.Project, error)
	// Keys returns API keys, oldest first.
	Keys(ctx context.Context, f KeyFilter) ([]checks.Key, error)
	// Channels returns channels, oldest first, with the marks that RecordResults has set.
	Channels(ctx context.Context, f ChannelFilter) ([]channels.Channel, error)
	// StatusPages returns status pages, oldest first.
	StatusPages(ctx context.Context, f StatusPageFilter) ([]checks.StatusPage, error)
	// Windows returns maintenance windows and snoozes, in the order of their starts.
	Windows(ctx context.Context, f WindowFilter) ([]Window, error)
	// Escalations returns the steps of the escalation policies of projects. A project without one is missing.
	Escalations(ctx context.Context, projects []uuid.UUID) (map[uuid.UUID][]gate.Step, error)
	// FindChecks returns the IDs of the checks of a project that m selects, the first added first.
	FindChecks(ctx context.Context, projectID uuid.UUID, m Match) ([]uuid.UUID, error)
	// Related returns the checks of a project with some slugs or IDs, or without names those that follow others, the first added first.
	Related(ctx context.Context, projectID uuid.UUID, names []string) ([]selection.Node, error)
}

// ProjectFilter selects projects. A nil field matches all.
type ProjectFilter struct {
	ID       *uuid.UUID
	Name     *string
	PingKey  *string
	BadgeKey *string
}

// StatusPageFilter selects status pages. A nil field matches all.
type StatusPageFilter struct {
	ID        *uuid.UUID
	ProjectID *uuid.UUID
	Slug      *string
}

// Window is a maintenance window or a snooze of a project.
type Window struct {
	gate.Window
	ProjectID uuid.UUID
}

// WindowFilter selects windows: that with an ID, or those of Projects.
type WindowFilter struct {
	ID       *uuid.UUID
	Projects []uuid.UUID
	// Kind, unless "", selects one kind.
	Kind gate.WindowKind
	// EndsAfter, unless it is the zero time, leaves out those whose last occurrence has ended at that instant.
	EndsAfter time.Time
}

// KeyFilter selects API keys. A nil field matches all.
type KeyFilter struct {
	ProjectID *uuid.UUID
	Hash      *[sha256.Size]byte
	// ExpiredAt selects keys that are expired at an instant.
	ExpiredAt *time.Time
}

// ChannelFilter selects channels. A nil field matches all.
type ChannelFilter struct {
	ProjectID *uuid.UUID
	IDs       []uuid.UUID
	// NotKinds selects the channels that have none of these kinds.
	NotKinds []channels.Kind
	// Limit, unless 0, bounds the number of channels.
	Limit int
}
