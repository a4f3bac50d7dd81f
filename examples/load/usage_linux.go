package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// clockTick is the unit of times in /proc/<pid>/stat: 100 a second on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuTime returns how long this process has computed, in user mode and in the kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bytesWritten returns how many bytes a process has caused to be sent to the disk, or 0 where the kernel does not tell.
func bytesWritten(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\nwrite_bytes: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(string(line), 10, 64)
	return n
}

// familyUsage returns what a process and its children have used. Children that have ended count with their parent,
// and of those, what they have written is not known.
func familyUsage(pid int) (cpu time.Duration, written int64) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name, in parentheses, may have anything in it.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 15 {
			continue
		}
		number := func(i int) int { n, _ := strconv.Atoi(string(fields[i])); return n }
		own, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		ticks := number(11) + number(12)
		if own == pid {
			ticks += number(13) + number(14)
		} else if number(1) != pid {
			continue
		}
		cpu += time.Duration(ticks) * clockTick
		written += bytesWritten(own)
	}
	return cpu, written
}
