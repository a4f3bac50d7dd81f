package sqlstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// empty removes all rows of a database, so that the next requirement finds it as if it were new, in a tenth of the time.
func empty(t *testing.T, pool *bun.DB) {
	t.Helper()
	query := "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'rollcall%'"
	if pool.Dialect().Name() == dialect.PG {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'rollcall%'"
	}
	var names []string
	must(t, pool.NewRaw(query).Scan(t.Context(), &names))
	last := []string{"rollcall_channels", "rollcall_projects", "rollcall_accounts"} // which others refer to
	names = append(slices.DeleteFunc(names, func(name string) bool { return name == "rollcall_schema" || slices.Contains(last, name) }), last...)
	if len(names) > len(last) { // it is migrated
		_, err := pool.ExecContext(t.Context(), "BEGIN; DELETE FROM "+strings.Join(names, "; DELETE FROM ")+"; COMMIT")
		must(t, err)
	}
}

// onPool returns how to open a store on an emptied database. All stores share the connections, which plan each statement once.
func onPool(pool *bun.DB) func(t *testing.T) *sqlstore.Database {
	return func(t *testing.T) *sqlstore.Database {
		t.Helper()
		empty(t, pool)
		return dbtest.OpenOn(t, pool).Database()
	}
}

// runContract runs the requirements with these names, or all, each on an empty store, which open returns.
func runContract(t *testing.T, open func(t *testing.T) *sqlstore.Database, names ...string) {
	t.Helper()
	chosen := contract()
	if len(names) > 0 {
		chosen = slices.DeleteFunc(chosen, func(r requirement) bool { return !slices.Contains(names, r.name) })
		if len(chosen) != len(names) {
			t.Errorf("of the requirements %q, %d exist", names, len(chosen))
		}
	}
	for _, r := range chosen {
		t.Run(r.name, func(t *testing.T) { r.test(t, newFixture(t, open(t))) })
	}
}

// requirement is a part of the contract in package checks/internal/store.
type requirement struct {
	name string
	test func(*testing.T, fixture)
}

func contract() []requirement {
	return []requirement{
		{"UpdateRollsBack", testUpdateRollsBack},
		{"CancelledContext", testCancelledContext},
		{"LostUpdates", testLostUpdates},
		{"LockOrder", testLockOrder},
		{"LockMissing", testLockMissing},

		{"CheckRoundTrip", testCheckRoundTrip},
		{"StateRoundTrip", testStateRoundTrip},
		{"SettingsAndState", testSettingsAndState},
		{"AnyText", testAnyText},
		{"CheckQueries", testCheckQueries},
		{"FindChecks", testFindChecks},
		{"TagSets", testTagSets},
		{"MoveCheck", testMoveCheck},
		{"MoveWhileDelivering", testMoveWhileDelivering},
		{"DeleteCheck", testDeleteCheck},

		{"Records", testRecords},
		{"Audit", testAudit},

		{"Batches", testBatches},
		{"MixedBatch", testMixedBatch},
		{"BatchesWithBodies", testBatchesWithBodies},
		{"ConcurrentBatches", testConcurrentBatches},

		{"PingLog", testPingLog},
		{"PingBodies", testPingBodies},
		{"FlipWindows", testFlipWindows},
		{"Transitions", testTransitions},
		{"RecentPings", testRecentPings},
		{"LastFailures", testLastFailures},
		{"RecentTransitions", testRecentTransitions},
		{"History", testHistory},
		{"ManyReminders", testManyReminders},
		{"LastDurations", testLastDurations},

		{"Months", testMonths},
		{"Folds", testFolds},
		{"Unfolded", testUnfolded},
		{"Zoned", testZoned},

		{"Lists", testLists},
		{"CountFailures", testCountFailures},

		{"DueChecks", testDueChecks},
		{"DueChecksAreShared", testDueChecksAreShared},
		{"DeadlinesAreLazy", testDeadlinesAreLazy},
		{"DueRuns", testDueRuns},
		{"Outlook", testOutlook},

		{"PrunePings", testPrunePings},
		{"PruneInSteps", testPruneInSteps},
		{"PruneWhilePinged", testPruneWhilePinged},
		{"PruneLogOfDeleted", testPruneLogOfDeleted},
		{"PruneFlips", testPruneFlips},

		{"Projects", testProjects},
		{"Rename", testRename},
		{"Accounts", testAccounts},
		{"FirstProject", testFirstProject},
		{"DeleteProject", testDeleteProject},
		{"Keys", testKeys},
		{"KeyErrors", testKeyErrors},
		{"Setting", testSetting},
		{"SettingsEnd", testSettingsEnd},
		{"Leases", testLeases},

		{"StatusPages", testStatusPages},
		{"StatusPageErrors", testStatusPageErrors},

		{"Channels", testChannels},
		{"AssignedChannels", testAssignedChannels},
		{"ChannelsOfManyChecks", testChannelsOfManyChecks},

		{"AlertRulesRoundTrip", testAlertRulesRoundTrip},
		{"AlertRules", testAlertRules},
		{"AlertOrder", testAlertOrder},
		{"AlertsInQuietHours", testAlertsInQuietHours},
		{"AlertsOfLaterRules", testAlertsOfRulesThatCameLater},
		{"Alerts", testAlerts},
		{"GroupMembers", testGroupMembers},

		{"DueChannels", testDueChannels},
		{"DeliveryClaims", testDeliveryClaims},
		{"DeliveriesInOrder", testDeliveriesInOrder},
		{"DeliveryRoom", testDeliveryRoom},
		{"DeliveryLines", testDeliveryLines},
		{"DeliveryResults", testDeliveryResults},
		{"DeliveryHeld", testDeliveryHeld},
		{"DeliveryReleased", testDeliveryReleased},
		{"DeliveryGoverned", testDeliveryGoverned},
		{"DeliveriesAreShared", testDeliveriesAreShared},
		{"DeliveryCopies", testDeliveryCopies},
		{"DeliveryHistory", testDeliveryHistory},
		{"RecipientsThatAccepted", testDone},
		{"Handovers", testHandovers},
		{"Incidents", testIncidents},
		{"CloseIncident", testCloseIncident},
		{"OnAlert", testOnAlert},
		{"OnAlertDeliveries", testOnAlertDeliveries},

		{"Uploads", testUploads},
		{"UploadsAreShared", testUploadsAreShared},
		{"UploadOfPrunedPing", testUploadOfPrunedPing},
		{"ObjectsOfPrunedPings", testObjectsOfPrunedPings},
		{"KeysAreNotReused", testKeysAreNotReused},
		{"Removals", testRemovals},

		{"Spools", testSpools},
		{"Spooled", testSpooled},
		{"Recorded", testRecorded},

		{"Probes", testProbes},
		{"Backlog", testBacklog},
	}
}
