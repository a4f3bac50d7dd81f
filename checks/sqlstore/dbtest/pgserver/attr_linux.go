package pgserver

import "syscall"

// childAttr ends the server with this process, however that ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }
