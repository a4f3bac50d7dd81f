package verdict_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

func TestVerdictWindows(t *testing.T) {
	maintenance := gate.Window{Kind: gate.Maintenance, Start: at(22, 1, 0), Schedule: "0 2 * * *", Duration: 2 * time.Hour, TZ: "Europe/Riga", Note: "disks"}
	snooze := gate.Window{Kind: gate.Snooze, Start: at(22, 2, 0), End: at(23, 6, 0), Tags: []string{"db"}}
	other := gate.Window{Kind: gate.Maintenance, Start: at(22, 2, 0), End: at(23, 6, 0), Checks: []uuid.UUID{uuid.New()}}
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
}
