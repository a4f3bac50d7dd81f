package server_test

import (
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
)

// TestEscalationByAPI sets the policy by names and ids, and refuses what it cannot be.
func TestEscalationByAPI(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		const path = "/api/v3/escalation/"
		project := a.mon.Project(a.project.ID)
		ids := make(map[string]string)
		for _, name := range []string{"mail", "pager", "twin", "twin"} {
			c, err := project.CreateChannel(a.Context(), channels.Channel{Kind: channels.Email, Name: name, Settings: map[string]string{"to": "a@example.org"}})
			a.must(err)
			ids[name] = c.ID.String()
		}
		a.equal("at first", a.as("GET", path, nil).object(200), object{"steps": []any{}})
		want := object{"steps": []any{
			object{"after": 0.0, "channels": []any{ids["mail"]}}, object{"after": 900.0, "channels": []any{ids["twin"]}}, object{"after": 3600.0, "channels": []any{ids["pager"]}},
		}}
		wanted := object{"steps": []object{{"channels": []string{"mail"}}, {"after": 900, "channels": []string{ids["twin"]}, "other": 1}, {"after": 3600, "channels": []string{"pager"}}}}
		a.equal("set", a.as("PUT", path, wanted).object(200), want)
		a.equal("read", a.api("GET", path, nil).object(200), want)
		for text, steps := range map[string]any{
			"steps is not a list of objects":                                                        nil,
			"steps has a step 1 where channels is not an array":                                     []object{{"channels": "mail"}},
			"steps has a step 1 where after is not a whole number: 1.5":                             []object{{"after": 1.5, "channels": []string{"mail"}}},
			"steps has a step 1 whose time is out of range: 168h0m1s, from 0 to 7 days":             []object{{"after": 604801, "channels": []string{"mail"}}},
			"steps has a step 1 with an integration that the project does not have: Mail":           []object{{"channels": []string{"Mail"}}},
			"steps has a step 1 with a name that 2 integrations have: twin":                         []object{{"channels": []string{"twin"}}},
			"steps has a step 1 without integrations":                                               []object{{}},
			"steps has a step 2 that does not follow later than step 1: 1m0s after 2m0s":            []object{{"after": 120, "channels": []string{"mail"}}, {"after": 60, "channels": []string{"pager"}}},
			"steps names an integration twice, in step 1 and step 1: " + ids["mail"]:                []object{{"channels": []string{"mail", ids["mail"]}}},
			"steps has a step 1 with an integration that the project does not have: " + unknownUUID: []object{{"channels": []string{unknownUUID}}},
		} {
			a.as("PUT", path, object{"steps": steps}).refusedField("steps", text)
		}
		a.equal("still", a.as("GET", path, nil).object(200), want)
		a.as("PUT", path, object{"steps": []any{}}).is(200)
		a.equal("removed", a.as("GET", path, nil).object(200), object{"steps": []any{}})
	})
}
