package checks_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// literal returns a check that a program has written out, without New.
func literal(expr, zone, quietHours string) checks.Check {
	return checks.Check{
		Settings: checks.Settings{Schedule: expr, TZ: zone, QuietHours: quietHours, Grace: 30 * time.Minute},
		State:    checks.State{Stored: checks.StatusUp, LastPing: noon},
	}
}

func TestZeroZoneIsUTC(t *testing.T) {
	c := literal("0 18 * * *", "", "")
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	c, _, _, err := c.Ping(pings.Signal{}, noon)
	if err != nil || !c.NextPing(noon).Equal(noon.Add(6*time.Hour)) || c.Status(noon.Add(time.Hour)) != checks.StatusUp {
		t.Errorf("an hour after a ping at noon: %s, next ping %v, error %v", c.Status(noon.Add(time.Hour)), c.NextPing(noon), err)
	}
	if spec := c.Settings.Spec(); spec.TZ == nil || *spec.TZ != "UTC" || spec.Validate(noon) != nil {
		t.Errorf("the spec has the zone %v, error %v", spec.TZ, spec.Validate(noon))
	}
}

// TestInvalidCheckIsAnError writes out checks that cannot be evaluated. The error names the setting, and no status is made up.
func TestInvalidCheckIsAnError(t *testing.T) {
	for field, c := range map[string]checks.Check{
		"schedule":    literal("garbage", "UTC", ""),
		"tz":          literal("0 18 * * *", "Mars/Phobos", ""),
		"quiet_hours": literal("0 18 * * *", "UTC", "garbage"),
	} {
		_, _, effects, pingErr := c.Ping(pings.Signal{}, noon.Add(time.Hour))
		_, _, updateErr := c.Update(checks.Spec{Name: new("new")}, noon.Add(time.Hour))
		for name, err := range map[string]error{"Validate": c.Validate(), "Ping": pingErr, "Update": updateErr} {
			if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != field || e.Err == nil {
				t.Errorf("%s of a check with a bad %s: %v", name, field, err)
			}
		}
		if len(effects.Transitions)+len(effects.Alerts) > 0 {
			t.Errorf("a ping of a check with a bad %s had effects: %+v", field, effects)
		}
		if field == "quiet_hours" {
			continue // its deadline is known
		}
		later := noon.AddDate(0, 0, 9)
		if _, effects := c.Settle(later); c.Status(later) != checks.StatusUp || !c.Deadline().IsZero() || len(effects.Transitions) > 0 {
			t.Errorf("a check with a bad %s is %s, its deadline %v, effects %+v", field, c.Status(later), c.Deadline(), effects)
		}
	}
}

// TestStoredCheckWithoutZone reads a check whose zone was removed from the database of zones. It must alert rather than be
// silent, and take pings.
func TestStoredCheckWithoutZone(t *testing.T) {
	c := literal("0 18 * * *", "Mars/Phobos", "")
	var plans checks.Plans
	plans.Attach(&c)
	if e, ok := errors.AsType[*checks.FieldError](c.Validate()); !ok || e.Field != "tz" {
		t.Errorf("Validate: %v", e)
	}
	c, ping, _, err := c.Ping(pings.Signal{}, noon)
	if err != nil || ping.N != 1 {
		t.Fatalf("ping %d, error %v", ping.N, err)
	}
	c, _, err = c.Update(checks.Spec{Name: new("new")}, noon)
	if err != nil || !c.Wake().Equal(noon.Add(c.Grace)) {
		t.Errorf("renamed, it wakes at %v, error %v; want at the end of the grace time", c.Wake(), err)
	}
	if _, _, err := c.Update(checks.Spec{Schedule: new("0 19 * * *")}, noon); err == nil {
		t.Error("its schedule was changed in a zone that does not exist")
	}
	if c, _, err = c.Update(checks.Spec{TZ: new("Europe/Riga")}, noon); err != nil || c.Validate() != nil || c.NextPing(noon).Before(noon.Add(time.Hour)) {
		t.Errorf("with a zone: next ping %v, errors %v, %v", c.NextPing(noon), err, c.Validate())
	}
}
