package server

// Routes returns the method and the path of every endpoint of the management interface.
func Routes() [][2]string {
	var routes [][2]string
	for _, e := range endpoints() {
		routes = append(routes, [2]string{e.method, e.path})
	}
	return routes
}

// ReserveBodies reserves all memory for bodies. It panics if any is in use.
func (s *Server) ReserveBodies() (release func()) {
	all := max(bodyMemory, 4*s.bodyLimit)
	if !s.bodyMemory.TryAcquire(all) {
		panic("the memory for bodies is in use")
	}
	return func() { s.bodyMemory.Release(all) }
}
