package main

import (
	"log/slog"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
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

// TestHSTSFlag: each value of --hsts is a header that the server accepts, and sends if its URL is https.
func TestHSTSFlag(t *testing.T) {
	field, _ := reflect.TypeFor[serveCmd]().FieldByName("HSTS")
	values := strings.Split(field.Tag.Get("enum"), ",")
	if len(values) != len(strictTransport) {
		t.Errorf("--hsts has the values %q, and there are headers for %d", values, len(strictTransport))
	}
	mon, err := monitor.New(dbtest.Memory(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		s := service{serveCmd: &serveCmd{HSTS: value, BaseURL: "https://rollcall.example.org"}, log: slog.New(slog.DiscardHandler)}
		config, err := s.serverConfig()
		if err != nil {
			t.Fatal(err)
		}
		srv, err := server.New(mon, config)
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		want := strictTransport[value]
		if value == "off" {
			want = ""
		}
		if got := w.Header().Get("Strict-Transport-Security"); got != want {
			t.Errorf("--hsts %s sends %q, want %q", value, got, want)
		}
	}
}
