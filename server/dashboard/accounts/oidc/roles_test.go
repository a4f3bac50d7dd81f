package oidc_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
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
