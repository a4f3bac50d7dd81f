//go:build !unix

package sqlite

import "os"

// giveToOwnerOfDirectory does nothing: this system has no root.
func giveToOwnerOfDirectory(*os.File) {}
