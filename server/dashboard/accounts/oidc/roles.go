package oidc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/server/people"
)

// Rule gives a role to everybody whose claim has a value.
type Rule struct {
	// Claim is the name of a claim of the provider, or a path to one with dots, such as realm_access.roles.
	Claim string
	// Value is what the claim must be, or one of the items of a list. "*" is any value but an empty text and false.
	Value string
	// Admin makes administrators. Otherwise the rule gives Role in Project.
	Admin bool
	Role  people.Role
	// Project is the name of a project, or "*" for all of them.
	Project string
}

// ParseRule parses a rule: CLAIM:VALUE=ROLE@PROJECT with the role owner, editor or viewer, or CLAIM:VALUE=admin. The project
// "*" is every project. The error names the part that is wrong.
func ParseRule(text string) (Rule, error) {
	given, role, found := cutRole(text)
	if !found {
		return Rule{}, fmt.Errorf("%q has no role: write CLAIM:VALUE=ROLE@PROJECT or CLAIM:VALUE=admin", text)
	}
	rule := Rule{}
	scheme, rest := "", given
	if i := strings.Index(given, "://"); i >= 0 { // claims of one's own are named by URLs
		scheme, rest = given[:i+3], given[i+3:]
	}
	claim, value, found := strings.Cut(rest, ":")
	rule.Claim, rule.Value = strings.TrimSpace(scheme+claim), strings.TrimSpace(value)
	switch {
	case !found || rule.Value == "":
		return Rule{}, fmt.Errorf("%q has no value before the =: write CLAIM:VALUE, such as groups:ops", text)
	case rule.Claim == "":
		return Rule{}, fmt.Errorf("%q has no claim before the colon: write CLAIM:VALUE, such as groups:ops", text)
	}
	name, project, scoped := strings.Cut(role, "@")
	name, rule.Project = strings.TrimSpace(name), strings.TrimSpace(project)
	if name == "admin" {
		if scoped {
			return Rule{}, fmt.Errorf("%q: admin is for the whole installation: leave out @%s, or use owner", text, project)
		}
		rule.Admin = true
		return rule, nil
	}
	parsed, err := people.ParseRole(name)
	if err != nil {
		return Rule{}, fmt.Errorf("%q: the role %q must be admin, owner, editor or viewer", text, name)
	}
	if rule.Project == "" {
		return Rule{}, fmt.Errorf("%q: the role %s needs a project: write %s@PROJECT, or %s@* for every project", text, name, name, name)
	}
	rule.Role = parsed
	return rule, nil
}

// cutRole splits a rule at the last = that a role follows, because values such as cn=ops,ou=groups and the names of projects
// may have one too.
func cutRole(text string) (given, role string, found bool) {
	for end := len(text); ; {
		i := strings.LastIndexByte(text[:end], '=')
		if i < 0 {
			break
		}
		name, _, _ := strings.Cut(text[i+1:], "@")
		if _, err := people.ParseRole(strings.TrimSpace(name)); err == nil || strings.TrimSpace(name) == "admin" {
			return text[:i], text[i+1:], true
		}
		end = i
	}
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// claims are what the provider says about a person.
type claims map[string]json.RawMessage

// values returns the values of a claim as text, and whether the provider sent it.
func (c claims) values(name string) ([]string, bool) {
	raw, ok := c[name]
	for rest := name; !ok; { // a path: each step is an object
		head, tail, dotted := strings.Cut(rest, ".")
		raw, ok = c[head]
		if !ok || !dotted {
			return valuesOf(raw), ok
		}
		c, rest = nil, tail
		if json.Unmarshal(raw, &c) != nil {
			return nil, false
		}
		raw, ok = c[rest]
	}
	return valuesOf(raw), ok
}

// valuesOf returns texts, numbers and booleans, and those in a list. A claim that is an object has those keys as values that it
// gives: {"root": true} has root and {"root": false} nothing.
func valuesOf(raw json.RawMessage) (values []string) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, item := range list {
			values = append(values, valuesOf(item)...)
		}
		return values
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for key, value := range object {
			if gives(value) {
				values = append(values, key)
			}
		}
		slices.Sort(values)
		return values
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return []string{text}
}

// gives reports whether an object gives a key with this value: true, or where it holds, as the roles of ZITADEL have the names of
// organizations by their numbers.
func gives(raw json.RawMessage) bool {
	if string(raw) == "true" {
		return true
	}
	var where map[string]json.RawMessage
	if json.Unmarshal(raw, &where) != nil {
		return false
	}
	for _, value := range where {
		var text string
		if gives(value) || json.Unmarshal(value, &text) == nil && text != "" {
			return true
		}
	}
	return false
}

// matches reports whether one of the values of the claim is that of the rule. "*" is any but an empty text and false.
func (r Rule) matches(values []string) bool {
	if r.Value == "*" {
		return slices.ContainsFunc(values, func(v string) bool { return v != "" && v != "false" })
	}
	return slices.Contains(values, r.Value)
}

// apply gives a person the roles of the rules that match. The highest role in a project wins.
func apply(rules []Rule, c claims, who *people.External) (missing []string) {
	who.HasRoles = len(rules) > 0
	for _, rule := range rules {
		values, sent := c.values(rule.Claim)
		switch {
		case !sent:
			if !slices.Contains(missing, rule.Claim) {
				missing = append(missing, rule.Claim)
			}
		case !rule.matches(values):
		case rule.Admin:
			who.Admin = true
		default:
			if who.Roles == nil {
				who.Roles = map[string]people.Role{}
			}
			if rule.Role.Right() > who.Roles[rule.Project].Right() {
				who.Roles[rule.Project] = rule.Role
			}
		}
	}
	return missing
}
