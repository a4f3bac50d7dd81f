package metrics

import "time"

// BindSource binds metrics to what a test makes up.
func BindSource(m *Metrics, from source, now func() time.Time) { m.bind(from, now) }
