//go:build release

package services_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/internal/receivertest"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/services"
)

// startAlertmanager runs an Alertmanager that only user me with the password right may use. It is no member of a cluster.
func startAlertmanager(t *testing.T) *receivertest.Program {
	t.Helper()
	program := receivertest.Find(t, "prometheus-alertmanager", "ROLLCALL_TEST_ALERTMANAGER",
		"apt-get install prometheus-alertmanager")
	return receivertest.Start(t, program, func(addr, dir string) (args, env []string) {
		for name, text := range map[string]string{
			"alertmanager.yml": "route: {receiver: none}\nreceivers: [{name: none}]\n",
			"web.yml":          "basic_auth_users: {me: $2y$04$abcdefghijklmnopqrstuuFmEfrkTQnczNzw475xE2VhDrK1uwJiC}\n", // right
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return []string{"--config.file=alertmanager.yml", "--web.config.file=web.yml", "--storage.path=data",
			"--web.listen-address=" + addr, "--cluster.listen-address="}, nil
	})
}

// alertmanagerLine delivers the alerts of one check to real Alertmanagers.
type alertmanagerLine struct {
	t        *testing.T
	notifier channels.IncidentNotifier
	settings values
	open     string
	// ahead is how far the clock of the notifier is ahead of that of the Alertmanagers.
	ahead time.Duration
}

func newAlertmanagerLine(t *testing.T, members ...*receivertest.Program) *alertmanagerLine {
	t.Helper()
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	t.Cleanup(client.CloseIdleConnections)
	l := &alertmanagerLine{t: t}
	l.notifier = notifiers(&services.Config{
		Client: client, Now: func() time.Time { return time.Now().Add(l.ahead) },
	})["alertmanager"].(channels.IncidentNotifier)
	var urls []string
	for _, member := range members {
		urls = append(urls, "http://"+member.Addr)
	}
	settings, err := channels.Validate(services.New(nil), "alertmanager",
		values{"url": strings.Join(urls, ","), "username": "me", "password": "right", "labels": "severity=page"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.settings = settings
	return l
}

func (l *alertmanagerLine) try(ctx context.Context, n channels.Notification) (err error) {
	l.open, err = l.notifier.NotifyIncident(ctx, channels.Channel{Kind: "alertmanager", Settings: l.settings}, n, l.open)
	return err
}

func (l *alertmanagerLine) deliver(n channels.Notification) {
	l.t.Helper()
	if err := l.try(l.t.Context(), n); err != nil {
		l.t.Fatal(err)
	}
}

// firing is an alert as the API shows it.
type firing struct {
	Labels      map[string]string
	Annotations map[string]string
	StartsAt    time.Time
	EndsAt      time.Time
	Status      struct{ State string }
}

// alerts returns the alerts of a member that are not resolved.
func (l *alertmanagerLine) alerts(member *receivertest.Program) []firing {
	l.t.Helper()
	// https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
	var alerts []firing
	if err := json.Unmarshal(fetch(l.t, "GET", "http://"+member.Addr+"/api/v2/alerts", "me", "right", ""), &alerts); err != nil {
		l.t.Fatal(err)
	}
	return alerts
}

// one returns the only alert of a member.
func (l *alertmanagerLine) one(member *receivertest.Program) firing {
	l.t.Helper()
	alerts := l.alerts(member)
	if len(alerts) != 1 {
		l.t.Fatalf("%d alerts, want 1: %v", len(alerts), alerts)
	}
	return alerts[0]
}

func (l *alertmanagerLine) none(member *receivertest.Program) {
	l.t.Helper()
	if alerts := l.alerts(member); len(alerts) != 0 {
		l.t.Fatalf("alerts: %v", alerts)
	}
}

// realOutage returns the alerts of an outage in the last hour.
func realOutage() (down, reminder, up channels.Notification) {
	down, reminder, up = outage()
	for _, n := range []*channels.Notification{&down, &reminder, &up} {
		n.Check.ID = uuid.MustParse(checkID)
		n.Check.Slug, n.Check.Tags = "backup", []string{"prod", "db/ž"}
		n.At = time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	}
	up.At, up.DownFor = down.At.Add(time.Minute), time.Minute
	return down, reminder, up
}

// TestRealAlertmanager goes through an outage.
func TestRealAlertmanager(t *testing.T) {
	p := startAlertmanager(t)
	l := newAlertmanagerLine(t, p)
	down, reminder, up := realOutage()

	l.deliver(down)
	first := l.one(p)
	want := map[string]string{
		"alertname": "RollcallCheckDown", "check": down.Check.Name, "uuid": checkID, "slug": "backup", "project": "Ops",
		"tag_prod": "true", "tag_db__": "true", "severity": "page",
	}
	if diff := cmp.Diff(want, first.Labels); diff != "" {
		t.Error(diff)
	}
	if !first.StartsAt.Equal(down.At) || first.Status.State == "suppressed" || first.Annotations["summary"] != "DOWN: "+down.Check.Name {
		t.Errorf("%+v", first)
	}

	l.deliver(reminder)
	if got := l.one(p).Annotations["summary"]; got != "Still DOWN (reminder 1): "+down.Check.Name {
		t.Error(got)
	}

	// The check is renamed, and its tags and the labels of the channel change.
	down.Check.Name, down.Check.Tags = "renamed", nil
	l.settings["labels"] = "severity=info"
	l.ahead = l.notifier.Refresh()
	l.deliver(down)
	refreshed := l.one(p)
	if diff := cmp.Diff(want, refreshed.Labels); diff != "" {
		t.Error(diff)
	}
	later := refreshed.EndsAt.Sub(first.EndsAt)
	if later < l.ahead || later > l.ahead+time.Minute || !refreshed.StartsAt.Equal(down.At) || refreshed.Annotations["summary"] != "DOWN: renamed" {
		t.Errorf("ends %v later: %+v", later, refreshed)
	}

	l.ahead = 0
	l.deliver(up)
	l.none(p)
	if l.open != "" {
		t.Errorf("open is %q", l.open)
	}
	l.deliver(down)
	if diff := cmp.Diff("renamed", l.one(p).Labels["check"]); diff != "" {
		t.Error(diff)
	}
}

// TestRealAlertmanagerEnds lets the program end while an alert is open: it resolves itself.
func TestRealAlertmanagerEnds(t *testing.T) {
	p := startAlertmanager(t)
	l := newAlertmanagerLine(t, p)
	down, _, _ := realOutage()
	l.deliver(down)
	if left := time.Until(l.one(p).EndsAt); left < 3*l.notifier.Refresh() || left > 5*l.notifier.Refresh() {
		t.Errorf("the alert ends in %v", left)
	}
	l.open, l.ahead = "", -time.Hour // as if this had been sent an hour ago
	down.Check.Name = "another"
	down.At = down.At.Add(-time.Hour)
	l.deliver(down)
	if got := l.one(p).Labels["check"]; got == "another" {
		t.Error("an alert that was not refreshed is still there")
	}
}

// TestRealAlertmanagerFails is about an Alertmanager that is away, that hangs and that refuses credentials.
func TestRealAlertmanagerFails(t *testing.T) {
	p := startAlertmanager(t)
	l := newAlertmanagerLine(t, p)
	down, _, up := realOutage()

	p.Stop()
	if err := l.try(t.Context(), down); err == nil || channels.IsPermanent(err) {
		t.Errorf("away: %v", err)
	}
	p.Restart(t)
	l.deliver(down)
	l.one(p)

	p.Stop()
	p.Restart(t)
	l.none(p) // it does not store alerts
	l.deliver(down)
	l.one(p)

	right := l.settings
	l.settings = maps.Clone(right)
	l.settings["password"] = "wrong"
	if err := l.try(t.Context(), up); err == nil || channels.IsPermanent(err) || !strings.Contains(err.Error(), "401") || l.open == "" {
		t.Errorf("wrong credentials: %v, open %q", err, l.open)
	}
	l.one(p)
	l.settings = right

	p.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := l.try(ctx, up)
	p.Resume(t)
	if !errors.Is(err, context.DeadlineExceeded) || channels.IsPermanent(err) || l.open == "" {
		t.Errorf("it hangs: %v, open %q", err, l.open)
	}
	l.deliver(up)
	l.none(p)
}

// TestRealAlertmanagerCluster has two members, of which one is away for a while.
func TestRealAlertmanagerCluster(t *testing.T) {
	one, two := startAlertmanager(t), startAlertmanager(t)
	l := newAlertmanagerLine(t, one, two)
	down, _, up := realOutage()

	two.Stop()
	err := l.try(t.Context(), down)
	if diff := cmp.Diff([]string{"member 1"}, channels.Accepted(err)); diff != "" || channels.IsPermanent(err) {
		t.Errorf("%v: %s", err, diff)
	}
	down.Done = channels.Accepted(err)
	l.deliver(down)
	l.one(one)

	two.Restart(t)
	down.Done = nil
	l.deliver(down) // the refresh
	if diff := cmp.Diff(l.one(one).Labels, l.one(two).Labels); diff != "" {
		t.Error(diff)
	}

	one.Stop()
	err = l.try(t.Context(), up)
	if !slices.Equal(channels.Accepted(err), []string{"member 2"}) || l.open == "" {
		t.Errorf("%v, open %q", err, l.open)
	}
	l.none(two)
	up.Done = channels.Accepted(err)
	l.deliver(up)
	if l.open != "" {
		t.Errorf("open is %q", l.open)
	}
	one.Restart(t)
	l.none(one)
	if fmt.Sprint(l.try(t.Context(), up)) != "<nil>" {
		t.Error("up is not accepted twice")
	}
}
