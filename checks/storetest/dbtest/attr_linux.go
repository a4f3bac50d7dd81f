package dbtest

import "syscall"

// childAttr lets the server end with the test process, however that ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }
