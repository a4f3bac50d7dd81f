package statuspage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestMaintenance announces maintenance, shows it as a state of its own, and no outage within it.
func TestMaintenance(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.page("acme", "web")
		shop, mail := w.check("Shop", "web"), w.check("Mail", "web")
		hidden := w.check("Secret", "db")
		w.ping(shop, pings.Success)
		w.ping(mail, pings.Success)
		add := func(window gate.Window) gate.Window {
			t.Helper()
			window.Kind = gate.Maintenance
			window, err := w.Project(w.project).AddWindow(t.Context(), window)
			w.must(err)
			w.pages.Refresh()
			return window
		}
		w.shows("/acme", "not:Maintenance", "Both services are up.")
		add(gate.Window{Checks: []uuid.UUID{hidden.ID}, Duration: time.Hour, Note: "of another page"})
		add(gate.Window{Start: noon.Add(8 * 24 * time.Hour), Duration: time.Hour, Note: "Far away"})
		w.shows("/acme", "not:Maintenance", "not:of another page", "not:Far away")
		add(gate.Window{Start: noon.Add(2 * 24 * time.Hour), Duration: 4 * time.Hour, Note: "Move <all>"})
		w.shows("/acme", "Maintenance", "All services: <bdi>Move &lt;all&gt;</bdi>", "2 Apr, 12:00</time> – <time", "planned", "not:Secret")

		disks := add(gate.Window{Checks: []uuid.UUID{shop.ID}, Duration: 3 * time.Hour, Note: "Disks"})
		w.shows("/acme", "1 of 2 services is up.", "1 is in maintenance.", `class="st maintenance"`, "<bdi>Shop</bdi>: <bdi>Disks</bdi>", "running")
		w.ping(shop, pings.Failure)
		w.clock.Advance(time.Minute)
		w.pages.Refresh()
		w.shows("/acme", "1 of 2 services is up.", "not:class=\"st down\"", "No incidents since")
		w.clock.Advance(59 * time.Minute)
		_, err := w.Project(w.project).EndWindow(t.Context(), disks.ID)
		w.must(err)
		w.ping(mail, pings.Success)
		w.pages.Refresh()
		w.clock.Advance(time.Minute)
		w.shows("/acme", "1 of 2 services is down.", "13:00</time> – now", "not:Disks")
	})
}
