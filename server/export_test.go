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
