package channels_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	std "github.com/rollcall-dev/rollcall/channels/standard"
)

// standard returns the types of package standard up to that of groups.
func standard() []channels.Type {
	types, err := std.New(nil)
	if err != nil {
		panic(err)
	}
	return types[:6]
}

func TestValidate(t *testing.T) {
	type settings = map[string]string
	const url = "https://example.org/hook"
	hook := func(name, value string) settings { return settings{"url_down": url, name: value} }
	tests := []struct {
		name  string
		kind  channels.Kind
		given settings
		want  settings // nil: as given, for webhooks with the methods
		err   string
	}{
		{"unknown kind", "pigeon", nil, nil, `kind is unknown: "pigeon", the known kinds are email, webhook, sms, whatsapp, call, group`},
		{"no kind", "", nil, nil, `kind is unknown: "", the known kinds are email, webhook, sms, whatsapp, call, group`},
		{"another case", "Email", nil, nil, `kind is unknown: "Email", the known kinds are email, webhook, sms, whatsapp, call, group`},

		{"email", channels.Email, settings{"to": "ops@example.org"}, nil, ""},
		{"email to several", channels.Email, settings{"to": "a@example.org, Ops <b@example.org>"}, nil, ""},
		{"email without address", channels.Email, nil, nil, "email: to is missing"},
		{"email with an empty address", channels.Email, settings{"to": ""}, nil, "email: to is missing"},
		{"email to no address", channels.Email, settings{"to": "ops"}, nil, "email: to is not a comma-separated list of e-mail addresses"},
		{"email to a blank", channels.Email, settings{"to": " "}, nil, "email: to is not a comma-separated list of e-mail addresses"},
		{"email with commas too many", channels.Email, settings{"to": "a@example.org,,"}, nil, ""},
		{"email with nothing but commas", channels.Email, settings{"to": ",,"}, nil, "email: to is not a comma-separated list of e-mail addresses"},
		{"email to an empty group", channels.Email, settings{"to": "nobody:;"}, nil, "email: to is not a comma-separated list of e-mail addresses"},
		{"email with a header", channels.Email, settings{"to": "a@example.org\r\n Bcc: b@example.org"}, nil, "email: to contains a control character"},
		{"unknown setting", channels.Email, settings{"to": "a@example.org", "tp": "x"}, nil, "email: tp is not a setting of this kind, which has to, unsubscribed, notify"},
		{"first of the unknown settings", channels.Email, settings{"z": "", "b": ""}, nil, "email: b is not a setting of this kind, which has to, unsubscribed, notify"},

		{"email to many", channels.Email, settings{"to": strings.Repeat("a@example.org,", 100)}, nil, ""},
		{"email to too many", channels.Email, settings{"to": strings.Repeat("a@example.org,", 101)}, nil, "email: to has too many addresses: 101, the maximum is 100"},

		{"webhook down", channels.Webhook, settings{"url_down": url}, settings{"url_down": url, "method_down": "POST", "method_up": "POST"}, ""},
		{"webhook up", channels.Webhook, settings{"url_up": url}, settings{"url_up": url, "method_down": "POST", "method_up": "POST"}, ""},
		{"webhook in full", channels.Webhook, settings{
			"url_down": "http://localhost:8080/$SLUG?a=b#c", "method_down": "GET", "body_down": "$NAME", "headers_down": "A: b\nC:d",
			"url_up": "https://[::1]/", "method_up": "PUT", "body_up": "{}", "headers_up": "X-Key: 1",
		}, nil, ""},
		{"webhook without URL", channels.Webhook, settings{"body_up": "x"}, nil, "webhook: url_down and url_up are both missing"},
		{"webhook with empty URLs", channels.Webhook, settings{"url_up": "", "url_down": ""}, nil, "webhook: url_down and url_up are both missing"},
		{"another scheme", channels.Webhook, hook("url_up", "ftp://example.org"), nil, "webhook: url_up is not an http:// or https:// URL"},
		{"no scheme", channels.Webhook, hook("url_up", "example.org/x"), nil, "webhook: url_up is not an http:// or https:// URL"},
		{"no host", channels.Webhook, hook("url_up", "http:///x"), nil, "webhook: url_up has no host"},
		{"only a port", channels.Webhook, hook("url_up", "http://:80/x"), nil, "webhook: url_up has no host"},
		{"port zero", channels.Webhook, hook("url_up", "http://h:0/"), nil, "webhook: url_up has an invalid port, which is a number from 1 to 65535"},
		{"port too large", channels.Webhook, hook("url_up", "http://h:65536/"), nil, "webhook: url_up has an invalid port, which is a number from 1 to 65535"},
		{"malformed URL", channels.Webhook, hook("url_up", "http://user:"+secret+"@h:x/"), nil, "webhook: url_up is not a URL"},
		{"placeholder in a host", channels.Webhook, hook("url_up", "https://$SLUG.example.org/"), nil, "webhook: url_up has a placeholder in its host, which must not depend on the check"},
		{"dollar sign in a host", channels.Webhook, hook("url_up", "https://example.org$TAG1/"), nil, "webhook: url_up has a placeholder in its host, which must not depend on the check"},
		{"placeholder instead of a host", channels.Webhook, hook("url_up", "https:$NAME"), nil, "webhook: url_up has no host"},
		{"placeholder in a port", channels.Webhook, hook("url_up", "https://example.org:$TAG1/"), nil, "webhook: url_up is not a URL"},
		{"placeholders elsewhere", channels.Webhook, hook("url_up", "https://u:$ID@example.org/$NAME?$TAG1=$BODY_JSON#$NOW"), nil, ""},
		{"half an escape before a placeholder", channels.Webhook, hook("url_up", "https://example.org/%2$TAG1"), nil, "webhook: url_up is not a URL"},
		{"line break in a URL", channels.Webhook, hook("url_up", "http://h/\nx"), nil, "webhook: url_up is not a URL"},
		{"method", channels.Webhook, hook("method_up", "DELETE"), nil, "webhook: method_up is not GET, POST or PUT"},
		{"method in lower case", channels.Webhook, hook("method_down", "get"), nil, "webhook: method_down is not GET, POST or PUT"},
		{"empty method", channels.Webhook, hook("method_up", ""), settings{"url_down": url, "method_down": "POST", "method_up": "POST"}, ""},
		{"headers with other line ends", channels.Webhook, hook("headers_up", "A: b\r\n\r\nC: d\r\n"), nil, ""},
		{"header without value", channels.Webhook, hook("headers_up", "A:"), nil, ""},
		{"header without colon", channels.Webhook, hook("headers_up", "A: b\n"+secret), nil, "webhook: headers_up has no colon in line 2, write Name: value"},
		{"header without name", channels.Webhook, hook("headers_up", ": b"), nil, "webhook: headers_up has an invalid header name in line 1"},
		{"header with a blank in its name", channels.Webhook, hook("headers_up", "A : b"), nil, "webhook: headers_up has an invalid header name in line 1"},
		{"header with an accent", channels.Webhook, hook("headers_up", "É: b"), nil, "webhook: headers_up has an invalid header name in line 1"},
		{"header with a control character", channels.Webhook, hook("headers_up", "A: b\x1b"), nil, "webhook: headers_up contains a control character in line 1"},
		{"header with a lone carriage return", channels.Webhook, hook("headers_up", "A: b\rC: d"), nil, "webhook: headers_up contains a control character in line 1"},

		{"header of the connection", channels.Webhook, hook("headers_up", "A: b\nhOST: x"), nil, "webhook: headers_up sets hOST in line 2, which only Rollcall may set"},
		{"header of the message length", channels.Webhook, hook("headers_up", "Transfer-Encoding: chunked"), nil, "webhook: headers_up sets Transfer-Encoding in line 1, which only Rollcall may set"},
		{"secret", channels.Webhook, hook("secret", "whsec_"+strings.Repeat("A", 32)), nil, ""},
		{"secret of text", channels.Webhook, hook("secret", "sixteen letters."), nil, "webhook: secret is too short, the minimum is 16 characters"},
		{"long secret of text", channels.Webhook, hook("secret", "0123456789abcdef"), nil, ""},
		{"several secrets", channels.Webhook, hook("secret", "0123456789abcdef whsec_"+strings.Repeat("A", 32)), nil, ""},
		{"one short secret of several", channels.Webhook, hook("secret", "0123456789abcdef whsec_AAAA"), nil, "webhook: secret is not the base64 of 24 to 64 bytes after whsec_"},
		{"secret that is too long", channels.Webhook, hook("secret", "whsec_"+strings.Repeat("AAAA", 22)), nil, "webhook: secret is not the base64 of 24 to 64 bytes after whsec_"},
		{"secret that is not base64", channels.Webhook, hook("secret", "whsec_"+strings.Repeat("A", 31)+"*"), nil, "webhook: secret is not the base64 of 24 to 64 bytes after whsec_"},
		{"blank secret", channels.Webhook, hook("secret", " "), nil, "webhook: secret is malformed"},

		{"sms", channels.SMS, settings{"to": "+37120000000"}, nil, ""},
		{"sms without number", channels.SMS, settings{"from": "x"}, nil, "sms: to is missing"},
		{"national number", channels.SMS, settings{"to": "20000000"}, nil, "sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"number with blanks", channels.SMS, settings{"to": "+371 20000000"}, nil, "sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"number that begins with 0", channels.SMS, settings{"to": "+01234567"}, nil, "sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"number too short", channels.SMS, settings{"to": "+123456"}, nil, "sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"longest number", channels.SMS, settings{"to": "+123456789012345"}, nil, ""},
		{"number too long", channels.SMS, settings{"to": "+1234567890123456"}, nil, "sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"other digits", channels.SMS, settings{"to": "+١٢٣٤٥٦٧٨"}, nil, "sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000"},

		{"longest value", channels.Webhook, hook("body_down", strings.Repeat("é", 10000)), nil, ""},
		{"value too long", channels.Webhook, hook("body_down", strings.Repeat("é", 10001)), nil, "webhook: body_down is too long: 10001 characters, the maximum is 10000"},
		{"NUL", channels.Webhook, hook("body_down", "a\x00b"), nil, "webhook: body_down contains a NUL character"},
		{"not UTF-8", channels.Webhook, hook("body_down", "a\xffb"), nil, "webhook: body_down is not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == nil && tt.err == "" {
				want = make(settings)
				if tt.kind == channels.Webhook {
					want["method_down"], want["method_up"] = "POST", "POST"
				}
				for name, value := range tt.given {
					want[name] = value
				}
			}
			got, err := channels.Validate(standard(), tt.kind, tt.given, nil)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.err, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateErrors(t *testing.T) {
	_, err := channels.Validate(nil, channels.Email, nil, nil)
	kindErr, _ := errors.AsType[*channels.KindError](err)
	if diff := cmp.Diff(&channels.KindError{Kind: channels.Email, Known: []channels.Kind{}}, kindErr); diff != "" {
		t.Error(diff)
	}
	_, err = channels.Validate(standard(), channels.Email, nil, nil)
	settingErr, _ := errors.AsType[*channels.SettingError](err)
	want := &channels.SettingError{Kind: channels.Email, Setting: "to", Reason: "is missing"}
	if diff := cmp.Diff(want, settingErr); diff != "" {
		t.Error(diff)
	}
}

// TestValidateHidesSecrets uses a check that repeats the value that it refuses.
func TestValidateHidesSecrets(t *testing.T) {
	kinds := []channels.Type{{Kind: "pager", Settings: []channels.Setting{{
		Name:   "token",
		Secret: true,
		Check:  func(value string) error { return fmt.Errorf("is wrong: %q", value) },
	}}}}
	_, err := channels.Validate(kinds, "pager", map[string]string{"token": secret}, nil)
	if diff := cmp.Diff("pager: token is malformed", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestValidateReturnsNewMap(t *testing.T) {
	given := map[string]string{"url_down": "https://example.org", "url_up": ""}
	got, err := channels.Validate(standard(), channels.Webhook, given, nil)
	if err != nil {
		t.Fatal(err)
	}
	got["url_down"] = "changed"
	want := map[string]string{"url_down": "https://example.org", "url_up": ""}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("the settings given were changed (-want +got):\n%s", diff)
	}
}

// TestKinds checks that all kinds are documented and that their defaults are valid.
func TestKinds(t *testing.T) {
	var got []channels.Kind
	for _, info := range standard() {
		got = append(got, info.Kind)
		if !strings.HasSuffix(info.Doc, ".") {
			t.Errorf("%s: Doc is not a sentence: %q", info.Kind, info.Doc)
		}
		for _, s := range info.Settings {
			if s.Name == "" || !strings.HasSuffix(s.Doc, ".") {
				t.Errorf("%s: the setting %q is not documented: %q", info.Kind, s.Name, s.Doc)
			}
			if s.Default == "" || s.Check == nil {
				continue
			}
			if err := s.Check(s.Default); err != nil {
				t.Errorf("%s: the default of %s: %v", info.Kind, s.Name, err)
			}
		}
	}
	if diff := cmp.Diff([]channels.Kind{"email", "webhook", "sms", "whatsapp", "call", "group"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestStored keeps what is stored and unchanged, whatever the kind says about it now.
func TestStored(t *testing.T) {
	type settings = map[string]string
	types := []channels.Type{{
		Kind:     "pager",
		Settings: []channels.Setting{{Name: "number", Required: true}, {Name: "priority", Options: []string{"low", "high"}, Default: "low"}},
		Check: func(settings map[string]string) *channels.SettingError {
			if settings["number"] == "13" {
				return &channels.SettingError{Setting: "number", Reason: "is unlucky"}
			}
			return nil
		},
	}}
	stored := settings{"number": "13", "priority": "medium", "tone": "shrill"}
	for _, tt := range []struct {
		kind          channels.Kind
		given, stored settings
		want          string
	}{
		{"pager", settings{"number": "12", "priority": "medium"}, nil, "pager: priority is not low or high"},
		{"pager", settings{"number": "13"}, nil, "pager: number is unlucky"},
		{"pager", stored, stored, "map[number:13 priority:medium tone:shrill]"},
		{"pager", settings{"number": "12", "priority": "medium", "tone": "shrill"}, stored, "map[number:12 priority:medium tone:shrill]"},
		{"pager", settings{"number": "12", "priority": "medium"}, stored, "map[number:12 priority:medium]"},
		{"pager", settings{"number": "12", "priority": "none"}, stored, "pager: priority is not low or high"},
		{"pager", settings{"number": "13", "priority": "high"}, stored, "pager: number is unlucky"},
		{"pager", settings{"number": "12", "tone": "soft"}, stored, "pager: tone is not a setting of this kind, which has number, priority, notify"},
		{"radio", stored, stored, "map[number:13 priority:medium tone:shrill]"},
		{"radio", settings{"number": "12"}, stored, `kind is unknown: "radio", the known kinds are pager`},
		{"radio", nil, settings{}, "map[]"},
		{"radio", nil, nil, `kind is unknown: "radio", the known kinds are pager`},
	} {
		got, err := channels.Validate(types, tt.kind, tt.given, tt.stored)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s %v, stored %v: %s, want %s", tt.kind, tt.given, tt.stored, text, tt.want)
		}
	}
}

func ExampleValidate() {
	settings, _ := channels.Validate(standard(), channels.Webhook, map[string]string{
		"url_down":  "https://example.org/down",
		"method_up": "GET",
	}, nil)
	fmt.Println(settings)
	_, err := channels.Validate(standard(), channels.SMS, map[string]string{"to": "20000000"}, nil)
	fmt.Println(err)
	// Output:
	// map[method_down:POST method_up:GET url_down:https://example.org/down]
	// sms: to is not a phone number: + and 7 to 15 digits, such as +37120000000
}

// A program adds its own kind to those of package standard.
func ExampleType() {
	kinds := append(standard(), channels.Type{
		Kind: "pager",
		Doc:  "Calls a pager.",
		Settings: []channels.Setting{{
			Name:     "number",
			Doc:      "The four digits of the pager.",
			Required: true,
			Check: func(value string) error {
				if len(value) != 4 {
					return errors.New("is not a pager number: 4 digits")
				}
				return nil
			},
		}},
	})
	_, err := channels.Validate(kinds, "pager", map[string]string{"number": "12"}, nil)
	fmt.Println(err)
	// Output: pager: number is not a pager number: 4 digits
}
