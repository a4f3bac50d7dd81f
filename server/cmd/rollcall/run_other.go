//go:build !unix

package main

import "os"

// passedOn are the signals that are passed on to a command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// alreadySent reports whether a signal has gone to the command as well: an interrupt goes to all that share a console.
func alreadySent(os.Signal) bool { return true }
