//go:build !unix

package main

import "os"

// passedOn returns the signals that rollcall run forwards to its command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// alreadySent reports whether the command already has the signal. An interrupt goes to every process of the console.
func alreadySent(os.Signal) bool { return true }
