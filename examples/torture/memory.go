package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memory returns how much memory a process has in use, in bytes, or 0 where that cannot be read: it is in /proc on
// Linux alone.
func memory(pid int) uint64 {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "VmRSS:"); found {
			kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// meter watches the memory of a process.
type meter struct {
	stopped chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	highest uint64
}

// newMeter starts to watch the process that pid tells of.
func newMeter(pid func() int) *meter {
	m := &meter{stopped: make(chan struct{})}
	m.done.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			now := memory(pid())
			m.mu.Lock()
			m.highest = max(m.highest, now)
			m.mu.Unlock()
			select {
			case <-m.stopped:
				return
			case <-ticker.C:
			}
		}
	})
	return m
}

// most returns the most memory since the last call.
func (m *meter) most() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	highest := m.highest
	m.highest = 0
	return highest
}

func (m *meter) stop() {
	close(m.stopped)
	m.done.Wait()
}
