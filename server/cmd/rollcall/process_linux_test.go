package main

import "syscall"

// childAttr makes a server end with the test process, however that ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
