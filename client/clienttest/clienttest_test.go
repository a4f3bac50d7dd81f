package clienttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/client/clienttest"
)

// TestBackup is the test of a program that runs a nightly job.
func TestBackup(t *testing.T) {
	srv := clienttest.NewServer(t)
	job := srv.Pinger("backup")
	if err := job.Run(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	srv.Advance(48 * time.Hour) // the job does not run
	if alerts := srv.TakeAlerts(); len(alerts) != 1 || alerts[0].Check.Name != "backup" {
		t.Errorf("alerts %+v", alerts)
	}
	_ = job.Run(t.Context(), func(context.Context) error { return errors.New("no tape") })
	check, err := srv.Client().CheckBySlug(t.Context(), "backup")
	if err != nil || check.Status != checks.StatusDown || check.NPings != 4 || !check.LastPing.Equal(srv.Now()) {
		t.Errorf("%+v, %v", check, err)
	}
	if alerts := srv.TakeAlerts(); len(alerts) != 0 {
		t.Errorf("alerts of a check that was down: %+v", alerts)
	}
}

// A program that has its own client uses the URL and the key.
func TestOwnClient(t *testing.T) {
	srv := clienttest.NewServer(t)
	c, err := client.New(srv.URL, srv.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	check, err := c.Create(t.Context(), checks.Spec{Slug: new("job"), Timeout: new(time.Hour), Grace: new(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.NewPinger(check.PingURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Success(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	srv.Advance(3 * time.Hour)
	if check, err = c.Check(t.Context(), check.ID); err != nil || check.Status != checks.StatusDown {
		t.Errorf("%v, %v", check.Status, err)
	}
	if alerts := srv.TakeAlerts(); len(alerts) != 1 || !alerts[0].At.Equal(srv.Now().Add(-119*time.Minute)) {
		t.Errorf("alerts %+v", alerts)
	}
}
