package server

// Routes returns the method and the path of every endpoint of the management interface, for the tests that must know
// all of them.
func Routes() [][2]string {
	var routes [][2]string
	for _, e := range endpoints() {
		routes = append(routes, [2]string{e.method, e.path})
	}
	return routes
}

// ReserveBodies takes all of the memory for bodies, and fails if any of it is in use.
func (s *Server) ReserveBodies() (release func()) {
	all := max(bodyMemory, 4*s.bodyLimit)
	if !s.bodyMemory.TryAcquire(all) {
		panic("the memory for bodies is in use")
	}
	return func() { s.bodyMemory.Release(all) }
}
