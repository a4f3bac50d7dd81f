package server

import (
	"context"
	"strings"
	"time"
)

// Routes returns the method and the path of every endpoint of the management interface.
func Routes() [][2]string {
	var routes [][2]string
	for _, e := range endpoints() {
		routes = append(routes, [2]string{e.method, e.path})
	}
	return routes
}

// OfVersion reports whether a version of the management interface has a route of [Routes].
func OfVersion(version int, route [2]string) bool {
	for _, e := range endpointsOf(version) {
		if e.method == route[0] && strings.TrimPrefix(e.path, roots[version]) == strings.TrimPrefix(route[1], roots[current]) {
			return true
		}
	}
	return false
}

// ReserveBodies reserves all memory for bodies. It panics if some stays in use: a handler returns its memory soon after
// its answer.
func (s *Server) ReserveBodies() (release func()) {
	all := max(bodyMemory, 4*s.bodyLimit)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := s.bodyMemory.Acquire(ctx, all); err != nil {
		panic("the memory for bodies is in use")
	}
	return func() { s.bodyMemory.Release(all) }
}

// SetCheckSeries replaces the limit on checks with a series each.
func (s *Server) SetCheckSeries(n int) { s.checkSeries = n }

// MaxTagSeries is how many tags have metrics beyond that.
const MaxTagSeries = maxTagSeries
