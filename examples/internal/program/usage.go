package program

import (
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// clockTick is the unit of CPU times in /proc. It is the same on every architecture that Go supports.
const clockTick = 10 * time.Millisecond

// Usage is what processes have used since they started. It is zero where there is no /proc.
type Usage struct {
	CPU     time.Duration // user and system time
	Written int64         // bytes sent to disks
	Wakeups uint64        // of threads that waited for something
}

// UsageOf adds up what processes have used. The CPU time of a child counts as its parent's once the child has exited.
func UsageOf(pids ...int) (u Usage) {
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue
		}
		if stat, err := p.Stat(); err == nil {
			u.CPU += time.Duration(int(stat.UTime+stat.STime)+stat.CUTime+stat.CSTime) * clockTick
		}
		if io, err := p.IO(); err == nil {
			u.Written += int64(io.WriteBytes)
		}
		threads, _ := procfs.AllThreads(pid)
		for _, t := range threads {
			if status, err := t.NewStatus(); err == nil {
				u.Wakeups += status.VoluntaryCtxtSwitches
			}
		}
	}
	return u
}

// WithChildren returns the process ID with those of the children of the process, such as the backends of PostgreSQL.
func WithChildren(pid int) []int {
	list := []int{pid}
	all, _ := procfs.AllProcs() // fails where there is no /proc
	for _, p := range all {
		if stat, err := p.Stat(); err == nil && stat.PPID == pid {
			list = append(list, p.PID)
		}
	}
	return list
}

// Memory returns how many bytes of memory a process uses now and the most it ever used, or 0 where there is no /proc.
func Memory(pid int) (now, peak uint64) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0
	}
	status, err := p.NewStatus()
	if err != nil {
		return 0, 0
	}
	return status.VmRSS, status.VmHWM
}

// OwnMemory returns how many bytes of memory a process uses that it shares with no other, or 0 where there is no /proc.
func OwnMemory(pid int) uint64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	status, err := p.NewStatus()
	if err != nil {
		return 0
	}
	return status.RssAnon
}

// ResetPeak makes the most memory that a process ever used what it uses now, where there is /proc.
func ResetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // see proc(5)
}
