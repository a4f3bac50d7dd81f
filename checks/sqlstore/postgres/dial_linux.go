package postgres

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is the socket option TCP_USER_TIMEOUT; see tcp(7).
const tcpUserTimeout = 0x12

// limitSilence closes a connection to a machine that has acknowledged nothing for silence. By default Linux takes a
// quarter of an hour.
func limitSilence(network, _ string, conn syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silence.Milliseconds()))
	})
	if failed != nil {
		return failed
	}
	return err
}
