package ui

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// A form that changes something says in its hidden field "was" what its viewer has seen. If another person has saved something
// else since, nothing is saved, and the page comes back with 409. Its field then says what is stored now, so that to save again
// replaces that.

// ErrConflict reports that another person has changed what a viewer changes.
var ErrConflict = errors.New("another person has changed the same since the page was opened")

// Fingerprint returns the "was" of a form that is saved as a whole, from the texts that it shows.
func Fingerprint(texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	return hex.EncodeToString(sum[:8])
}

// Was returns the "was" of the form that was sent, or else that of what is stored now.
func (q *Request) Was(now string) string { return cmp.Or(q.R.PostForm.Get("was"), now) }
