package program

import "syscall"

// childAttr makes a child die with this process, however this process ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
