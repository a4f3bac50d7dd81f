package checks

import "github.com/google/uuid"

// ChangeKind is a set of kinds of changes.
type ChangeKind uint8

// The kinds of changes. The first four concern checks.
const (
	// ChangedLog is a new ping: the log of a check, its last ping, its run in progress and its deadline.
	ChangedLog ChangeKind = 1 << iota
	// ChangedStatus is a flip, a pause or a resumption.
	ChangedStatus
	// ChangedSettings means that a check was created, updated, transferred or deleted.
	ChangedSettings
	// ChangedDeliveries means that an alert about a check was queued, sent, given up or queued again.
	ChangedDeliveries
	// ChangedChannels means that a channel was created, updated or deleted, or that it began or ceased to fail.
	ChangedChannels
	// ChangedProject means that the project was created or deleted, or that its API keys have changed.
	ChangedProject
	// ChangedStatusPages means that a status page was created, updated or deleted.
	ChangedStatusPages

	// ChangedAnything is the set of all kinds.
	ChangedAnything = 1<<iota - 1
	// ChangedChecks is the set of the kinds that concern checks.
	ChangedChecks = ChangedLog | ChangedStatus | ChangedSettings | ChangedDeliveries
)

// Change tells a subscriber of a monitor's changes what to read again.
type Change struct {
	// All means that anything may have changed, in any project. Projects is then nil.
	All bool
	// Projects holds what has changed, by project. Subscribers share the map: do not change it.
	Projects map[uuid.UUID]ProjectChange
}

// ProjectChange is what has changed in a project. The zero value is nothing.
type ProjectChange struct {
	// Kinds is the set of all changes in the project.
	Kinds ChangeKind
	// AllChecks means that each of Kinds that concerns checks may concern any check. Checks is then nil.
	AllChecks bool
	// Checks holds the changes by check. Subscribers share the map: do not change it.
	Checks map[uuid.UUID]ChangeKind
}

// Project returns what has changed in a project.
func (c Change) Project(id uuid.UUID) ProjectChange {
	if c.All {
		return ProjectChange{Kinds: ChangedAnything, AllChecks: true}
	}
	return c.Projects[id]
}

// Check returns what has changed in a check.
func (p ProjectChange) Check(id uuid.UUID) ChangeKind {
	if p.AllChecks {
		return p.Kinds & ChangedChecks
	}
	return p.Checks[id]
}
