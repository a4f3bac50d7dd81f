package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
)

// TestDashboardKinds checks which kinds of integrations people may make on the pages.
func TestDashboardKinds(t *testing.T) {
	for _, test := range []struct {
		flag    string
		private bool
		want    []channels.Kind // nil: all but privileged ones
		err     string
	}{
		{"", false, nil, ""},
		{"all", false, nil, ""},
		{"all", true, nil, ""},
		{"", true, []channels.Kind{"email", "sms", "whatsapp", "call", "group"}, ""},
		{"none", true, []channels.Kind{}, ""},
		{"email,shell", false, []channels.Kind{"email", "shell"}, ""},
		{"email,all", false, nil, `--dashboard-kinds: the kind "all" is unknown`},
	} {
		var flag []string
		if test.flag != "" {
			flag = strings.Split(test.flag, ",")
		}
		got, err := dashboardKinds(flag, test.private)
		if !slices.Equal(got, test.want) || (got == nil) != (test.want == nil) || (err == nil) != (test.err == "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
			t.Errorf("%q, private networks %v: %v, %v, want %v, %q", test.flag, test.private, got, err, test.want, test.err)
		}
	}
}
