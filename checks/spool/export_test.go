package spool

// ErrInUse exports errInUse.
var ErrInUse = errInUse
