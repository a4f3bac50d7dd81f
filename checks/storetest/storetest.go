// Package storetest is the contract of a [monitor.Store], as tests. A store of another kind than sqlstore's shows
// with it that it can serve a monitor:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) monitor.Store { return openMyStore(t) })
//	}
package storetest

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// Run runs the contract. open returns a new, empty store that is closed when its test ends.
func Run(t *testing.T, open func(t *testing.T) monitor.Store) {
	for name, test := range map[string]func(*testing.T, fixture){
		"CheckRoundTrip":        testCheckRoundTrip,
		"SettingsAndState":      testSettingsAndState,
		"StateRoundTrip":        testStateRoundTrip,
		"CheckQueries":          testCheckQueries,
		"FindChecks":            testFindChecks,
		"DeleteCheck":           testDeleteCheck,
		"UpdateRollsBack":       testUpdateRollsBack,
		"LostUpdates":           testLostUpdates,
		"LockOrder":             testLockOrder,
		"Batches":               testBatches,
		"BatchesWithBodies":     testBatchesWithBodies,
		"BatchesTogether":       testBatchesTogether,
		"PingLog":               testPingLog,
		"PingBodies":            testPingBodies,
		"FlipWindows":           testFlipWindows,
		"DueChecks":             testDueChecks,
		"DueChecksAreShared":    testDueChecksAreShared,
		"DeadlinesAreLazy":      testDeadlinesAreLazy,
		"PrunePings":            testPrunePings,
		"PruneInSteps":          testPruneInSteps,
		"PruneWhilePinged":      testPruneWhilePinged,
		"PruneLogOfDeleted":     testPruneLogOfDeleted,
		"PruneFlips":            testPruneFlips,
		"Projects":              testProjects,
		"AccountsAndPlans":      testAccountsAndPlans,
		"DeleteProject":         testDeleteProject,
		"Keys":                  testKeys,
		"KeyOfNoProject":        testKeyOfNoProject,
		"Channels":              testChannels,
		"ChannelsOfManyChecks":  testChannelsOfManyChecks,
		"Settings":              testSettings,
		"AnyText":               testAnyText,
		"CancelledContext":      testCancelledContext,
		"FirstProjectOnlyOnce":  testFirstProjectOnlyOnce,
		"LockCheckNotFound":     testLockCheckNotFound,
		"NothingSharedByChecks": testNothingSharedByChecks,
		"AlertRulesRoundTrip":   testAlertRulesRoundTrip,
		"AlertRules":            testAlertRules,
		"AlertOrder":            testAlertOrder,
		"AlertsInQuietHours":    testAlertsInQuietHours,
		"AlertsOfLaterRules":    testAlertsOfRulesThatCameLater,
		"Uploads":               withBodies(testUploads),
		"UploadsAreShared":      withBodies(testUploadsAreShared),
		"UploadOfPrunedPing":    withBodies(testUploadOfPrunedPing),
		"ObjectsOfPrunedPings":  withBodies(testObjectsOfPrunedPings),
		"KeysAreNotReused":      withBodies(testKeysAreNotReused),
		"Removals":              withBodies(testRemovals),
		"DeliveryClaims":        testDeliveryClaims,
		"DeliveriesInOrder":     testDeliveriesInOrder,
		"DueChannels":           testDueChannels,
		"DeliveryRoom":          testDeliveryRoom,
		"DeliveryLines":         testDeliveryLines,
		"DeliveriesAreShared":   testDeliveriesAreShared,
		"Alerts":                testAlerts,
		"DeliveryCopies":        testDeliveryCopies,
		"GroupMembers":          testGroupMembers,
		"DeliveryHistory":       testDeliveryHistory,
		"Probes":                testProbes,
		"Backlog":               testBacklog,
		"LastDurations":         testLastDurations,
	} {
		t.Run(name, func(t *testing.T) { test(t, newFixture(t, open(t))) })
	}
}

// noon is the time at which tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// withBodies skips a test for a store that has no queue for bodies.
func withBodies(test func(*testing.T, fixture)) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		if f.BodyQueue == nil {
			t.Skip("the store is no monitor.BodyQueue")
		}
		test(t, f)
	}
}

// fixture is a store with one project.
type fixture struct {
	monitor.Store
	monitor.BodyQueue // nil if the store has none
	project           checks.Project
}

func newFixture(t *testing.T, s monitor.Store) fixture {
	t.Helper()
	f := fixture{Store: s, project: newProject("first")}
	f.BodyQueue, _ = s.(monitor.BodyQueue)
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.InsertProject(ctx, f.project) })
	return f
}

func newProject(name string) checks.Project {
	return checks.Project{
		ID: uuid.New(), Name: name, Account: checks.DefaultAccount, Plan: checks.Paid,
		BadgeKey: "badge-" + name, PingKey: "ping-" + name, CreatedAt: noon,
	}
}

func (f fixture) update(t *testing.T, fn func(ctx context.Context, tx monitor.Tx) error) {
	t.Helper()
	if err := f.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// create adds a check to the fixture's project.
func (f fixture) create(t *testing.T, spec checks.Spec) checks.Check {
	t.Helper()
	c, err := checks.New(f.project.ID, spec, noon)
	if err != nil {
		t.Fatal(err)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return addCheck(ctx, tx, c) })
	return c
}

func addCheck(ctx context.Context, tx monitor.Tx, c checks.Check) error {
	return tx.SaveChecks(ctx, []*monitor.Locked{{Check: c}})
}

// ping records a signal of a check.
func (f fixture) ping(t *testing.T, id uuid.UUID, s pings.Signal, at time.Time) pings.Ping {
	t.Helper()
	var ping pings.Ping
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		ping = apply(l, s, at)
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	return ping
}

func apply(l *monitor.Locked, s pings.Signal, at time.Time) pings.Ping {
	c, ping, effects := l.Check.Ping(s, at)
	l.Pings = append(l.Pings, ping)
	l.Apply(c, effects)
	return ping
}

func (f fixture) check(t *testing.T, id uuid.UUID) checks.Check {
	t.Helper()
	list, err := f.Checks(t.Context(), monitor.CheckFilter{ID: &id})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d checks, want 1: %v", len(list), err)
	}
	return list[0]
}

// gone fails the test if the check exists.
func (f fixture) gone(t *testing.T, id uuid.UUID) {
	t.Helper()
	if list, err := f.Checks(t.Context(), monitor.CheckFilter{ID: &id}); err != nil || len(list) != 0 {
		t.Errorf("%d checks, want none: %v", len(list), err)
	}
}

// list returns the checks of the fixture's project.
func (f fixture) list(t *testing.T) []checks.Check {
	t.Helper()
	list, err := f.Checks(t.Context(), monitor.CheckFilter{ProjectID: &f.project.ID})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (f fixture) addChannel(t *testing.T, name string, at time.Time) channels.Channel {
	t.Helper()
	c := channels.Channel{
		ID: uuid.New(), ProjectID: f.project.ID, Kind: "email", Name: name,
		Settings: map[string]string{"to": "ops@example.org"}, CreatedAt: at,
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.SaveChannel(ctx, c) })
	return c
}

// same compares values, except for what a check has only for speed.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(checks.Check{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func hashOf(text string) [32]byte { return sha256.Sum256([]byte(text)) }
