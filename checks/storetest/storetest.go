package storetest

import (
	"slices"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Run runs the contract. open returns a new, empty store and closes it when its test ends.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	run(t, open, contract())
}

// RunSome runs the requirements with these names.
func RunSome(t *testing.T, open func(t *testing.T) store.Store, names ...string) {
	some := slices.DeleteFunc(contract(), func(r requirement) bool { return !slices.Contains(names, r.name) })
	if len(some) != len(names) {
		t.Errorf("of the requirements %q, %d exist", names, len(some))
	}
	run(t, open, some)
}

func run(t *testing.T, open func(t *testing.T) store.Store, requirements []requirement) {
	for _, r := range requirements {
		t.Run(r.name, func(t *testing.T) { r.test(t, newFixture(t, open(t))) })
	}
}

// requirement is a part of the contract, by the name that the package comment explains.
type requirement struct {
	name string
	test func(*testing.T, fixture)
}

// contract returns the requirements in the order of the package comment.
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
		{"MoveCheck", testMoveCheck},
		{"MoveWhileDelivering", testMoveWhileDelivering},
		{"DeleteCheck", testDeleteCheck},

		{"Batches", testBatches},
		{"MixedBatch", testMixedBatch},
		{"BatchesWithBodies", testBatchesWithBodies},
		{"ConcurrentBatches", testConcurrentBatches},

		{"PingLog", testPingLog},
		{"PingBodies", testPingBodies},
		{"FlipWindows", testFlipWindows},
		{"Transitions", testTransitions},
		{"RecentPings", testRecentPings},
		{"RecentTransitions", testRecentTransitions},
		{"History", testHistory},
		{"ManyReminders", testManyReminders},
		{"LastDurations", testLastDurations},

		{"Months", testMonths},
		{"Folds", testFolds},
		{"Unfolded", testUnfolded},

		{"DueChecks", testDueChecks},
		{"DueChecksAreShared", testDueChecksAreShared},
		{"DeadlinesAreLazy", testDeadlinesAreLazy},
		{"DueRuns", testDueRuns},

		{"PrunePings", testPrunePings},
		{"PruneInSteps", testPruneInSteps},
		{"PruneWhilePinged", testPruneWhilePinged},
		{"PruneLogOfDeleted", testPruneLogOfDeleted},
		{"PruneFlips", testPruneFlips},

		{"Projects", testProjects},
		{"Accounts", testAccounts},
		{"FirstProject", testFirstProject},
		{"DeleteProject", testDeleteProject},
		{"Keys", testKeys},
		{"KeyErrors", testKeyErrors},
		{"Setting", testSetting},
		{"Sessions", testSessions},
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
		{"DeliveriesAreShared", testDeliveriesAreShared},
		{"DeliveryCopies", testDeliveryCopies},
		{"DeliveryHistory", testDeliveryHistory},
		{"RecipientsThatAccepted", testDone},
		{"Incidents", testIncidents},
		{"CloseIncident", testCloseIncident},
		{"OnAlert", testOnAlert},
		{"OnAlertDeliveries", testOnAlertDeliveries},

		{"Uploads", withBodies(testUploads)},
		{"UploadsAreShared", withBodies(testUploadsAreShared)},
		{"UploadOfPrunedPing", withBodies(testUploadOfPrunedPing)},
		{"ObjectsOfPrunedPings", withBodies(testObjectsOfPrunedPings)},
		{"KeysAreNotReused", withBodies(testKeysAreNotReused)},
		{"Removals", withBodies(testRemovals)},

		{"Spools", testSpools},
		{"Spooled", testSpooled},
		{"Recorded", testRecorded},

		{"Probes", testProbes},
		{"Backlog", testBacklog},
	}
}

// withBodies skips a test for a store that is no [store.BodyQueue].
func withBodies(test func(*testing.T, fixture)) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		if f.BodyQueue == nil {
			t.Skip("the store is no store.BodyQueue")
		}
		test(t, f)
	}
}
