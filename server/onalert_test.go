package server_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

// TestOnAlert sends an alert to a function of the program. The API shows no integration for it, and nothing else differs.
func TestOnAlert(t *testing.T) {
	each(t, nil, func(s *site) {
		alerts := make(chan string, 1)
		other := s.another(s.store, monitor.Config{OnAlert: func(_ context.Context, n channels.Notification) error {
			alerts <- n.Check.Name
			return nil
		}}, server.Config{BaseURL: s.url})
		check := other.create(object{"name": "backup", "channels": "*"})
		other.ping(check, "/fail")
		s.must(other.mon.Tick(s.Context()))
		s.equal("the alert", <-alerts, "backup")
		s.equal("more alerts", len(alerts), 0)
		s.equal("the integrations of the check", other.get(check)["channels"], "")
		for _, path := range []string{"/api/v3/channels/", "/api/v3/checks/", "/api/v3/badges/"} {
			with, without := other.api(http.MethodGet, path, nil), s.api(http.MethodGet, path, nil)
			s.equal(path, with.is(200).body, without.is(200).body)
		}
		s.equal("the list of integrations", other.api(http.MethodGet, "/api/v3/channels/", nil).is(200).body, `{"channels":[]}`+"\n")
	})
}
