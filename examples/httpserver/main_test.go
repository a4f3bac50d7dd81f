package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
)

func TestRoutes(t *testing.T) {
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, keys, err := mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String()
	if web.Config.Handler, err = routes(t.Context(), mon, url); err != nil {
		t.Fatal(err)
	}
	web.Start()
	defer web.Close()
	get := func(url string) string {
		t.Helper()
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	if got := get(url + "/"); got != "my program\n" {
		t.Errorf("the program's own page: %q", got)
	}
	api, err := client.New(url, keys.ReadWrite, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.Create(t.Context(), checks.Spec{Name: new("backup")})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(c.PingURL); got != "OK" || !strings.HasPrefix(c.PingURL, url+"/alive/") {
		t.Errorf("%s answers %q", c.PingURL, got)
	}
	if c, err = api.Check(t.Context(), c.ID); err != nil || c.Status != checks.StatusUp {
		t.Errorf("the check is %s, %v", c.Status, err)
	}
	if got := get(c.BadgeURL); !strings.Contains(got, "<svg") {
		t.Errorf("%s answers %q", c.BadgeURL, got)
	}
}
