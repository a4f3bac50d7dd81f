package checks_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestEqual changes each field of a check alone.
func TestEqual(t *testing.T) {
	spec := checks.Spec{Schedule: new("0 3 * * *"), Tags: []string{"db"}, QuietHours: new("22:00-06:00")}
	c, _, _, err := newCheck(t, spec).Ping(pings.Signal{Kind: pings.Start}, noon)
	if err != nil {
		t.Fatal(err)
	}
	c.Channels = []uuid.UUID{{1}}
	compiled := c
	compiled.Tags, compiled.Channels, compiled.Runs = slices.Clone(c.Tags), slices.Clone(c.Channels), slices.Clone(c.Runs)
	new(checks.Plans).Attach(&compiled)
	if !c.Equal(compiled) || cmp.Diff(c, compiled) != "" {
		t.Error("a check differs from itself with its schedule compiled")
	}
	elsewhere := c
	elsewhere.CreatedAt, elsewhere.Tags = c.CreatedAt.In(time.FixedZone("", 3600)), []string{"db"}
	if !c.Equal(elsewhere) {
		t.Error("a check differs from its copy with a time in another zone")
	}
	fields := 0
	changeEach(reflect.ValueOf(&c).Elem(), "", func(name string) {
		fields++
		if c.Equal(compiled) || compiled.Equal(c) || cmp.Diff(c, compiled) == "" {
			t.Errorf("checks with different values of %s are equal", name)
		}
	})
	if !c.Equal(compiled) || fields < 40 {
		t.Errorf("%d fields were changed and changed back", fields)
	}
}

// changeEach changes the exported fields of a value, one at a time.
func changeEach(v reflect.Value, name string, changed func(name string)) {
	before := reflect.ValueOf(v.Interface())
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = value.Add(time.Microsecond)
	case *uuid.UUID:
		value[15]++
	default:
		switch v.Kind() {
		case reflect.Struct:
			for field, value := range v.Fields() {
				if field.IsExported() {
					changeEach(value, name+"."+field.Name, changed)
				}
			}
			return
		case reflect.Slice:
			for i := range v.Len() {
				changeEach(v.Index(i), fmt.Sprintf("%s[%d]", name, i), changed)
			}
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		default:
			v.SetInt(v.Int() + 1)
		}
	}
	changed(name)
	v.Set(before)
}

// TestFieldErrorCause reads the place of a fault from the errors of settings.
func TestFieldErrorCause(t *testing.T) {
	for field, test := range map[string]struct {
		spec checks.Spec
		want string
	}{
		"schedule": {checks.Spec{Schedule: new("0 25 * * *")}, "hour"},
		"tz":       {checks.Spec{TZ: new("Mars/Phobos")}, "tz"},
	} {
		err := test.spec.Validate(noon)
		refused, ok := errors.AsType[*checks.FieldError](fmt.Errorf("importing: %w", err))
		cause, found := errors.AsType[*schedule.Error](err)
		if !ok || refused.Field != field || !found || cause.Field != test.want {
			t.Errorf("%s: %v has the cause %v", field, err, cause)
		}
	}
	err := checks.Spec{QuietHours: new("22-6")}.Validate(noon)
	if cause, ok := errors.AsType[*quiet.Error](err); !ok || cause.Window != "22-6" {
		t.Errorf("quiet hours: %v has the cause %v", err, cause)
	}
	if err := (checks.Spec{Name: new("\x00")}).Validate(noon); errors.Unwrap(err) != nil {
		t.Errorf("a name has the cause %v", errors.Unwrap(err))
	}
}

// TestPingRefusesInvalidSignals sends what no job can send, to a check whose deadline has passed.
func TestPingRefusesInvalidSignals(t *testing.T) {
	c, _, _, err := hourly(t).Ping(pings.Signal{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for text, signal := range map[string]pings.Signal{
		`signal is not valid: the kind "succes" is not success, start, fail or log`: {Kind: "succes"},
		`signal is not valid: the kind "ign" is not success, start, fail or log`:    {Kind: pings.Ignored},
		"signal is not valid: the exit status 999 is not in 0 to 255":               {ExitStatus: new(999)},
		"signal is not valid: the exit status -1 is not in 0 to 255":                {ExitStatus: new(-1)},
		"signal is not valid: the kind success contradicts the exit status 3":       {Kind: pings.Success, ExitStatus: new(3)},
	} {
		got, ping, effects, err := c.Ping(signal, noon.Add(24*time.Hour))
		refused, ok := errors.AsType[*checks.FieldError](err)
		if !ok || refused.Field != "signal" || err.Error() != text {
			t.Errorf("error %v, want %s", err, text)
		}
		if !got.Equal(c) || ping.N != 0 || len(effects.Transitions) > 0 {
			t.Errorf("a refused signal changed the check: ping %d, %+v", ping.N, effects)
		}
	}
}
