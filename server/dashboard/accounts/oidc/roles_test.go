package oidc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
	"github.com/rollcall-dev/rollcall/server/people"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]oidc.Rule{
		"groups:ops=owner@payments":             {Claim: "groups", Value: "ops", Role: people.Owner, Project: "payments"},
		" groups : ops = editor @ my project ":  {Claim: "groups", Value: "ops", Role: people.Editor, Project: "my project"},
		"groups:everyone=viewer@*":              {Claim: "groups", Value: "everyone", Role: people.Viewer, Project: "*"},
		"groups:admins=admin":                   {Claim: "groups", Value: "admins", Admin: true},
		"groups:cn=a,ou=b=owner@x":              {Claim: "groups", Value: "cn=a,ou=b", Role: people.Owner, Project: "x"},
		"groups:urn:a:b=owner@x=y@z":            {Claim: "groups", Value: "urn:a:b", Role: people.Owner, Project: "x=y@z"},
		"https://example.org/claim:a=viewer@x":  {Claim: "https://example.org/claim", Value: "a", Role: people.Viewer, Project: "x"},
		"realm_access.roles:rollcall-adm=admin": {Claim: "realm_access.roles", Value: "rollcall-adm", Admin: true},
	} {
		if rule, err := oidc.ParseRule(text); err != nil || rule != want {
			t.Errorf("%s: %+v, %v", text, rule, err)
		}
	}
	for text, want := range map[string]string{
		"":                           "has no role",
		"groups:ops":                 "has no role",
		"groups=owner@x":             "has no value",
		"groups:=owner@x":            "has no value",
		":ops=owner@x":               "has no claim",
		"groups:ops=boss@x":          `the role "boss" must be`,
		"groups:ops=Owner@x":         `the role "Owner" must be`,
		"groups:ops=owner":           "the role owner needs a project",
		"groups:ops=owner@":          "the role owner needs a project",
		"groups:ops=admin@payments":  "leave out @payments",
		"https://example.org/a=view": "has no value",
	} {
		if rule, err := oidc.ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, rule, err, want)
		}
	}
}

// TestRoles gives the highest role of the rules that match, at each sign-in anew.
func TestRoles(t *testing.T) {
	var rules []oidc.Rule
	for _, text := range []string{"groups:everyone=viewer@*", "groups:ops=owner@payments", "groups:everyone=editor@payments", "groups:ops=viewer@payments",
		"groups:admins=admin", "deep.er.roles:r1=editor@deep", "https://a.b/c:true=viewer@url", "sub:*=viewer@all"} {
		rule, err := oidc.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	s := newSite(t, func(c *oidc.Config) { c.Roles = rules })
	who, err := s.signIn()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]people.Role{"*": people.Viewer, "payments": people.Owner, "all": people.Viewer}
	if diff := cmp.Diff(want, who.Roles); diff != "" || !who.HasRoles || who.Admin {
		t.Errorf("%+v (-want +got):\n%s", who, diff)
	}
	if log := s.log.String(); !strings.Contains(log, "missing=deep.er.roles,https://a.b/c") || !strings.Contains(log, "groups") {
		t.Errorf("the log is %s", log)
	}

	s.idp.Fail(oidctest.Faults{Claims: func(c map[string]any) {
		c["groups"], c["deep"], c["https://a.b/c"] = "admins", map[string]any{"er": map[string]any{"roles": map[string]any{"r1": true, "r2": false}}}, true
	}})
	if who, err = s.signIn(); err != nil {
		t.Fatal(err)
	}
	want = map[string]people.Role{"deep": people.Editor, "url": people.Viewer, "all": people.Viewer}
	if diff := cmp.Diff(want, who.Roles); diff != "" || !who.Admin {
		t.Errorf("%+v (-want +got):\n%s", who, diff)
	}

	s.idp.Fail(oidctest.Faults{Claims: func(c map[string]any) { c["groups"] = []string{} }})
	if who, err = s.signIn(); err != nil || who.Admin || !who.HasRoles || len(who.Roles) != 1 {
		t.Errorf("%+v, %v", who, err)
	}
}

// TestValues: what a claim denies is no value of it.
func TestValues(t *testing.T) {
	s := newSite(t, func(c *oidc.Config) {
		c.Roles = []oidc.Rule{{Claim: "groups", Value: "root", Admin: true}, {Claim: "groups", Value: "*", Role: people.Viewer, Project: "any"}}
	})
	for text, want := range map[string]string{
		`["ops", "root"]`: "root any", `"root"`: "root any", `"ops root"`: "any", `[["root"], null]`: "root any", `true`: "any", `7`: "any",
		`false`: "", `null`: "", `""`: "", `[]`: "", `[false, "", null]`: "", `{}`: "",
		`{"root": true}`: "root any", `{"root": false}`: "", `{"root": false, "ops": true}`: "any", `{"root": null}`: "", `{"root": "false"}`: "",
		`{"root": 0}`: "", `{"root": ""}`: "", `{"root": []}`: "", `{"root": {}}`: "", `{"root": {"enabled": false}}`: "",
		`{"root": {"2": "example.org"}}`: "root any", `{"root": {"org": {"enabled": true}}}`: "root any", `[{"root": false}]`: "", `[{"root": true}]`: "root any",
	} {
		s.idp.Fail(oidctest.Faults{Claims: func(c map[string]any) { c["groups"] = json.RawMessage(text) }})
		who, err := s.signIn()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if who.Admin {
			got = append(got, "root")
		}
		if who.Roles["any"] != "" {
			got = append(got, "any")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has the values %q, want %q", text, got, want)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add("groups:ops=owner@payments")
	f.Add("https://a/b:c=admin")
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := oidc.ParseRule(text)
		if err == nil && (rule.Claim == "" || rule.Value == "" || rule.Admin == (rule.Role != "") || rule.Admin != (rule.Project == "")) {
			t.Errorf("%q: %+v", text, rule)
		}
	})
}
