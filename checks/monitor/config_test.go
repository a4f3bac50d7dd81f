package monitor_test

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestNegativeConfig has New name the field that is wrong.
func TestNegativeConfig(t *testing.T) {
	for want, config := range map[string]monitor.Config{
		"monitor: Config.SpoolWait is negative":       {SpoolWait: -time.Second},
		"monitor: Config.MaxCreated is negative":      {MaxCreated: -1},
		"monitor: Config.Delivery.GiveUp is negative": {Delivery: monitor.DeliveryConfig{GiveUp: -1}},
	} {
		if _, err := monitor.New(dbtest.SQLite(t).Open(t), &config); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
