package pgserver

import "os"

// Lose removes the files of a stopped server.
func (s *Server) Lose() error { return os.RemoveAll(s.data()) }
