// Package store names the parts of the store's contract that tests outside of checks wrap, to let a database fail.
package store

import "github.com/rollcall-dev/rollcall/checks/internal/store"

// The contract; see package checks/internal/store.
type (
	Store            = store.Store
	Tx               = store.Tx
	Locked           = store.Locked
	CheckFilter      = store.CheckFilter
	ProjectFilter    = store.ProjectFilter
	KeyFilter        = store.KeyFilter
	StatusPageFilter = store.StatusPageFilter
)

// ErrUnavailable means that the database cannot be reached or is too busy.
var ErrUnavailable = store.ErrUnavailable
