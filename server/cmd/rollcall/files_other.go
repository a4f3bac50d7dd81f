//go:build !unix

package main

import "math"

// openFiles returns the maximum number of files and connections that the process may have open.
func openFiles() int { return math.MaxInt32 }
