package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Kill ends all processes of the server by SIGKILL, as the end of its machine would, and returns once they are gone.
// Nothing of the server runs on for a moment or tells its clients. It needs Linux: elsewhere the processes of clients end
// by themselves soon after the first process. It does nothing if the server is stopped.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	suspend(s.cmd.Process) // so that it starts no others
	children := childrenOf(s.cmd.Process.Pid)
	for _, pid := range children {
		if child, err := os.FindProcess(pid); err == nil {
			_ = child.Kill()
		}
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
	for _, pid := range children {
		for deadline := time.Now().Add(startTime); alive(pid) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
}

// childrenOf returns the child processes of a process.
func childrenOf(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if _, parent := parseStat(path); parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			children = append(children, child)
		}
	}
	return children
}

// alive reports whether a process runs. One that has ended may stay listed as a zombie.
func alive(pid int) bool {
	state, _ := parseStat(fmt.Sprintf("/proc/%d/stat", pid))
	return state != "" && state != "Z" && state != "X"
}

// parseStat returns the state and the parent of a process from its file in /proc; see proc_pid_stat(5).
func parseStat(path string) (state string, parent int) {
	text, _ := os.ReadFile(path)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // the name may contain spaces
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
