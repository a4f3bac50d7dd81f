package pgserver

import "syscall"

// childAttr lets the server end with this process, however that ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }
