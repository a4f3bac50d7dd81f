package monitor

import "context"

// The steps of [Monitor.Tick], for tests of one of them.

func (m *Monitor) Sweep(ctx context.Context) (int, error)   { return m.watcher.Sweep(ctx) }
func (m *Monitor) Deliver(ctx context.Context) (int, error) { return m.courier.Deliver(ctx) }
func (m *Monitor) KeepIncidents(ctx context.Context) (int, error) {
	return m.courier.KeepIncidents(ctx)
}
func (m *Monitor) Replay(ctx context.Context) (int, error)       { return m.ingest.Replay(ctx) }
func (m *Monitor) UploadBodies(ctx context.Context) (int, error) { return m.bodies.upload(ctx) }
func (m *Monitor) RemoveBodies(ctx context.Context) (int, error) { return m.bodies.remove(ctx) }
func (m *Monitor) Prune(ctx context.Context) (int, error) {
	n, err := m.pruner.pings(ctx, nil)
	if err != nil {
		return n, err
	}
	others, err := m.pruner.others(ctx, nil)
	return n + others, err
}
