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

// TestRoles gives the highest role of the rules that match, again at each sign-in.
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
