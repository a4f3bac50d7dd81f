//go:build !unix

package main

import (
	"os"
	"sync"
)

// passedOn returns the signals that rollcall run forwards to its command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// alreadySent reports whether the command already has the signal. An interrupt goes to every process of the console.
func alreadySent(os.Signal) bool { return true }

// readLocked reads from a pipe, and holds the lock during took.
func readLocked(pipe *os.File, buf []byte, mu *sync.Mutex, took func(n int)) (int, error) {
	n, err := pipe.Read(buf)
	mu.Lock()
	defer mu.Unlock()
	took(n)
	return n, err
}

// unread returns 0, because nothing here tells how many bytes are in a pipe.
func unread(*os.File) int { return 0 }
