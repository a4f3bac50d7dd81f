package verdict_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestVerdictWindows(t *testing.T) {
	maintenance := gate.Window{Kind: gate.Maintenance, Start: at(22, 1, 0), Schedule: "0 2 * * *", Duration: 2 * time.Hour, TZ: "Europe/Riga", Note: "disks"}
	snooze := gate.Window{Kind: gate.Snooze, Start: at(22, 2, 0), End: at(23, 6, 0), Tags: []string{"db"}}
	other := gate.Window{Kind: gate.Maintenance, Start: at(22, 2, 0), End: at(23, 6, 0), Checks: []uuid.UUID{uuid.New()}}
	held := func(name string) checks.Delivery {
		return checks.Delivery{ChannelName: name, ChannelKind: channels.Email, State: checks.DeliveryPending, Held: gate.ByMaintenance, HeldBy: "disks", Due: at(22, 4, 0)}
	}
	for want, test := range map[string]struct {
		windows []gate.Window
		now     time.Time
	}{
		"Up since yesterday 03:00. The last run succeeded yesterday 03:00. Next run due at 03:00 Europe/Riga (20 min grace). In maintenance until 04:00 (disks): alerts wait.": {
			[]gate.Window{maintenance}, at(22, 2, 30)},
		"Up since yesterday 03:00. The last run succeeded yesterday 03:00. Next run due at 03:00 Europe/Riga (20 min grace). In maintenance until tomorrow 06:00 (disks): alerts wait.": {
			[]gate.Window{maintenance, snooze}, at(22, 2, 30)},
		"Up since yesterday 03:00. The last run succeeded yesterday 03:00. Next run due at 03:00 Europe/Riga (20 min grace). Snoozed until tomorrow 06:00: alerts wait.": {
			[]gate.Window{snooze, other}, at(22, 2, 30)},
		"Up since yesterday 03:00. The last run succeeded yesterday 03:00. Next run due at 03:00 Europe/Riga (20 min grace).": {
			[]gate.Window{maintenance, other}, at(22, 1, 30)},
	} {
		s := begin(t, checks.Spec{Tags: []string{"db"}}).success(at(21, 3, 0))
		s.in.Windows, s.in.Now = test.windows, test.now
		if got := verdict.Explain(s.in).Text(nil); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for want, list := range map[string][]checks.Delivery{
		"In maintenance until 04:00 (disks): the alert to *ops* waits.":             {held("ops")},
		"In maintenance until 04:00 (disks): the alerts to *ops* and *pager* wait.": {held("ops"), held("pager")},
	} {
		s := begin(t, checks.Spec{}).success(at(21, 3, 0)).ping(pings.Signal{Kind: pings.Failure}, at(22, 2, 10)).with(list...)
		s.in.Windows, s.in.Now = []gate.Window{maintenance}, at(22, 2, 30)
		if got := verdict.Explain(s.in).Text(nil); !strings.Contains(got, want) || strings.Contains(got, "at the earliest") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		s.in.Now = at(22, 4, 0)
		if got := verdict.Explain(s.in).Text(nil); strings.Contains(got, "In maintenance") || !strings.Contains(got, "at the earliest: maintenance: disks.") {
			t.Errorf("at the end: %s", got)
		}
	}
}
