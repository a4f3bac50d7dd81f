package request_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// every sets all settings.
func every() (spec checks.Spec) {
	for _, s := range checks.AllSettings() {
		s.Set(&spec, s.Example)
	}
	return spec
}

func TestRequestsAreReadAsWritten(t *testing.T) {
	var none checks.Spec // every setting that can be none, false or 0
	for _, s := range checks.AllSettings() {
		if s.Min == 0 || s.Optional {
			s.Set(&none, s.Zero)
		}
	}
	for _, want := range []request.CheckCreate{{}, {every(), []checks.UniqueField{"name", "slug"}}, {Spec: none}, {Spec: checks.Spec{Name: new("<\u2028\"\\\U0001F389é")}}} {
		data, err := wire.Request(want.Spec, want.Unique...)
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		create, err := body.Create()
		if diff := cmp.Diff(want, create); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", data, err, diff)
		}
		update, err := body.Update()
		if diff := cmp.Diff(want.Spec, update); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", data, err, diff)
		}
		if key, err := body.APIKey(); key != nil || err != nil {
			t.Errorf("%s: %v, %v", data, key, err)
		}
	}
	body, err := request.Parse([]byte(`{"api_key":"k"}`))
	if err != nil {
		t.Fatal(err)
	}
	if key, err := body.APIKey(); err != nil || key == nil || *key != "k" {
		t.Errorf("the key is %v, %v", key, err)
	}
}

// TestRequestRefuses checks what a request cannot express.
func TestRequestRefuses(t *testing.T) {
	for want, spec := range map[string]checks.Spec{
		"grace is not a whole number of seconds: 1.5s":       {Grace: new(1500 * time.Millisecond)},
		`tags has an item with a blank: "a b"`:               {Tags: []string{"a b"}},
		"desc is not valid UTF-8":                            {Desc: new("\xff")},
		"repeat_every is not a whole number of seconds: 1ns": {RepeatEvery: new(time.Nanosecond)},
	} {
		_, err := wire.Request(spec)
		if typed, ok := errors.AsType[*checks.FieldError](err); !ok || typed.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestParseBody(t *testing.T) {
	for data, want := range map[string]string{
		"":                     "",
		"{}":                   "",
		"\r\n\t {} ":           "",
		`{"a":1,"a":2,"":[]}`:  "",
		" ":                    "the body is not valid JSON: ",
		"{":                    "the body is not valid JSON: ",
		"{}x":                  "the body is not valid JSON: ",
		"{} {}":                "the body is not valid JSON: ",
		"\ufeff{}":             "the body is not valid JSON: ",
		"{'a':1}":              "the body is not valid JSON: ",
		`{"a":1,}`:             "the body is not valid JSON: ",
		`{"a":01}`:             "the body is not valid JSON: ",
		`{"a":NaN}`:            "the body is not valid JSON: ",
		"{\"a\":\"\n\"}":       "the body is not valid JSON: ",
		`{"a":"\u12"}`:         "the body is not valid JSON: ",
		"{\"a\":\"\xc3\"}":     "the body is not valid UTF-8",
		"{\"\xed\xa0\x80\":1}": "the body is not valid UTF-8",
		"[]":                   "the body is not a JSON object",
		"null":                 "the body is not a JSON object",
		" 5":                   "the body is not a JSON object",
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000): "the body is not valid JSON: ",
	} {
		_, err := request.Parse([]byte(data))
		switch {
		case want == "" && err != nil:
			t.Errorf("%.40q: %v", data, err)
		case want != "" && (!errors.Is(err, request.ErrBody) || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%.40q: %v, want %s", data, err, want)
		}
	}
}

func TestFields(t *testing.T) {
	create := func(s checks.Spec) request.CheckCreate { return request.CheckCreate{Spec: s} }
	for data, want := range map[string]any{
		`{"Name":5,"NAME":5,"name ":5}`:       request.CheckCreate{},
		`{"name":1,"name":"x"}`:               create(checks.Spec{Name: new("x")}), // the last one counts
		`{"n\u0061me":"x"}`:                   create(checks.Spec{Name: new("x")}),
		`{"name":null}`:                       "name is not a string",
		`{"name":{"a":"b"}}`:                  "name is not a string",
		`{"name":"\ud83c\udf89"}`:             create(checks.Spec{Name: new("\U0001F389")}),
		`{"name":"\\ud83c"}`:                  create(checks.Spec{Name: new(`\ud83c`)}),
		`{"name":"\u0000"}`:                   create(checks.Spec{Name: new("\x00")}),
		`{"name":"\ufffd"}`:                   create(checks.Spec{Name: new("\ufffd")}),
		`{"name":"\ud83c"}`:                   `name is not valid Unicode: \ud83c stands alone`,
		`{"name":"\uDF89\ud83c"}`:             `name is not valid Unicode: \uDF89 stands alone`,
		`{"name":"a\ud83cudf89"}`:             `name is not valid Unicode: \ud83c stands alone`,
		`{"name":"\ud83c\\udf89"}`:            `name is not valid Unicode: \ud83c stands alone`,
		`{"name":"\ud83c\udf89\ud83c\ud83c"}`: `name is not valid Unicode: \ud83c stands alone`,
		`{"name":"\\\ud83c"}`:                 `name is not valid Unicode: \ud83c stands alone`,
		`{"other":"\ud83c"}`:                  request.CheckCreate{},
		`{"manual_resume":0}`:                 "manual_resume is not a boolean",
		`{"manual_resume":null}`:              "manual_resume is not a boolean",
		`{"manual_resume":false}`:             create(checks.Spec{ManualResume: new(false)}),
		`{"unique":[]}`:                       request.CheckCreate{},
		`{"unique":[ "a" , "a"]}`:             request.CheckCreate{Unique: []checks.UniqueField{"a", "a"}},
		`{"unique":"name"}`:                   "unique is not an array",
		`{"unique":null}`:                     "unique is not an array",
		`{"unique":[["a"]]}`:                  "unique has an item that is not a string",
		`{"unique":["\udc00"]}`:               `unique is not valid Unicode: \udc00 stands alone`,
		`{"timeout":null}`:                    "timeout is not a number",
		`{"timeout":"60"}`:                    "timeout is not a number",
		`{"timeout":true}`:                    "timeout is not a number",
		`{"grace":[60]}`:                      "grace is not a number",
		`{"timeout":60.5,"name":5}`:           "name is not a string", // the first in the order of the table
		`{"grace":60.5,"timeout":"x"}`:        "timeout is not a number",
		`{"api_key":5}`:                       "api_key is not a string",
		`{"alert_after":2e0}`:                 create(checks.Spec{AlertAfter: new(2)}),
		`{"alert_after":1.5}`:                 "alert_after is not a whole number: 1.5",
		`{"alert_after":1e99}`:                "alert_after is too large: 1e99, the maximum is 100",
		`{"alert_after":-1e99}`:               "alert_after is too small: -1e99, the minimum is 0",
		`{"repeat_every":"1h"}`:               "repeat_every is not a number",
		`{"repeat_every":-0.0}`:               create(checks.Spec{RepeatEvery: new(time.Duration(0))}),
		`{"repeat_every":59}`:                 "repeat_every is too small: 59, the minimum is 60",
		`{"repeat_every":-1}`:                 "repeat_every is too small: -1, the minimum is 60",
		`{"repeat_every":0.5}`:                "repeat_every is not a whole number: 0.5",
		`{"alert_after":101}`:                 "alert_after is too large: 101, the maximum is 100",
		`{"max_runtime":0}`:                   create(checks.Spec{MaxRuntime: new(time.Duration(0))}),
		`{"max_runtime":59}`:                  "max_runtime is too small: 59, the minimum is 60",
		`{"quiet_hours":null}`:                "quiet_hours is not a string",
	} {
		body, err := request.Parse([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		got, err := body.Create()
		text, refused := want.(string)
		if !refused {
			if diff := cmp.Diff(want, any(got)); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", data, err, diff)
			}
			continue
		}
		if typed, ok := errors.AsType[*checks.FieldError](err); !ok || typed.Error() != text {
			t.Errorf("%s: %v, want %s", data, err, text)
		}
	}
}

func TestNumbers(t *testing.T) {
	const large, small = "timeout is too large: ", "timeout is too small: "
	const maximum, minimum = ", the maximum is 31536000", ", the minimum is 60"
	for number, want := range map[string]any{
		"3600": int64(3600), "3600.0": int64(3600), "36e2": int64(3600), "36E+2": int64(3600), "0.36e4": int64(3600),
		"360000e-2": int64(3600), "3600.000000000000000000000000000000": int64(3600), "36000000000000000000000e-19": int64(3600),
		"60": int64(60), "31536e3": int64(31536000),
		"0": small + "0" + minimum, "-0": small + "-0" + minimum, "0.0": small + "0.0" + minimum, "0e5": small + "0e5" + minimum,
		"0e999999999999999999999": small + "0e999999999999999999999" + minimum, "-0.0e-5": small + "-0.0e-5" + minimum,
		"59": small + "59" + minimum, "-60": small + "-60" + minimum, "-6e1": small + "-6e1" + minimum,
		"31536001": large + "31536001" + maximum, "1e17": large + "1e17" + maximum,
		"999999999999999999":      large + "999999999999999999" + maximum,
		"60.5":                    "timeout is not a whole number: 60.5",
		"-0.1":                    "timeout is not a whole number: -0.1",
		"1e-1":                    "timeout is not a whole number: 1e-1",
		"1e-400":                  "timeout is not a whole number: 1e-400",
		"605e-1":                  "timeout is not a whole number: 605e-1",
		"1e-99999999999999999999": "timeout is not a whole number: 1e-99999999999999999999",
		"1e18":                    large + "1e18" + maximum,
		"1000000000000000000":     large + "1000000000000000000" + maximum,
		"9223372036854775808":     large + "9223372036854775808" + maximum,
		"1e400":                   large + "1e400" + maximum,
		"-1e400":                  small + "-1e400" + minimum,
		"1e999999999":             large + "1e999999999" + maximum,
		"1e+99999999999999999999": large + "1e+99999999999999999999" + maximum,
		"-1e99999999999999999999": small + "-1e99999999999999999999" + minimum,
		strings.Repeat("9", 1000): large + strings.Repeat("9", 40) + "… (1000 bytes)" + maximum,
		"0." + strings.Repeat("0", 1000) + "6e1002": int64(60),
	} {
		body, err := request.Parse([]byte(`{"timeout": ` + number + "\n}"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := body.Update()
		if text, refused := want.(string); refused {
			if err == nil || err.Error() != text {
				t.Errorf("%.40s: %v, want %s", number, err, text)
			}
		} else if err != nil || *got.Timeout != time.Duration(want.(int64))*time.Second {
			t.Errorf("%.40s: %v, %v, want %d", number, got.Timeout, err, want)
		}
	}
}

// Whatever the body is, nothing panics, and an accepted body means what encoding/json makes of it.
func FuzzBody(f *testing.F) {
	data, err := wire.Request(every(), checks.UniqueName)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", "{}", string(data), `{"timeout":36e2,"grace":60.5}`, `{"timeout":1e999999999}`, `{"grace":-0.0e1}`, `{"name":"\ud83c\udf89"}`,
		`{"name":"\ud83c\u0041"}`, `{"unique":["name",5]}`, `{"desc":"\\\ud83c"}`, `[{}]`, "null", "{\"tags\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := request.Parse(data)
		if err != nil {
			if !errors.Is(err, request.ErrBody) {
				t.Errorf("ParseBody: %v", err)
			}
			return
		}
		got, err := body.Create()
		update, updateErr := body.Update()
		if err != nil {
			if _, ok := errors.AsType[*checks.FieldError](err); !ok || len(err.Error()) > 200 {
				t.Errorf("Create: %v", err)
			}
			return
		}
		if diff := cmp.Diff(got.Spec, update); updateErr != nil || diff != "" {
			t.Errorf("Update: %v (-create +update):\n%s", updateErr, diff)
		}
		written, err := wire.Request(got.Spec, got.Unique...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := request.Parse(written)
		if err != nil {
			t.Fatal(err)
		}
		reread, err := again.Create()
		if diff := cmp.Diff(got, reread); err != nil || diff != "" {
			t.Errorf("%s: %v (-first +second):\n%s", written, err, diff)
		}
		var loose map[string]any
		if len(data) > 0 && json.Unmarshal(data, &loose) == nil {
			if name, ok := loose["name"].(string); ok && (got.Name == nil || *got.Name != name) {
				t.Errorf("name %v, want %q", got.Name, name)
			}
			if n, ok := loose["timeout"].(float64); ok && (got.Timeout == nil || got.Timeout.Seconds() != n) {
				t.Errorf("timeout %v, want %v", got.Timeout, n)
			}
		}
	})
}
