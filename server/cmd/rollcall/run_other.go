//go:build !unix

package main

import "os"

// passedOn returns the signals that a command receives.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// alreadySent reports whether the command has the signal already. An interrupt goes to every process of the console.
func alreadySent(os.Signal) bool { return true }
