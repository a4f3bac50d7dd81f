package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// event is what a stream sends, as JSON.
type event struct {
	Version string `json:"version"`
	// Kinds are words for what has changed: log, status, settings, deliveries, integrations, project, pages.
	Kinds []string `json:"kinds"`
	// Checks are the unique keys of the checks that have changed, or null for any.
	Checks []string `json:"checks"`
}

// kindWords are the words of an event, in the order of their bits.
var kindWords = []struct {
	kind monitor.ChangeKind
	word string
}{
	{monitor.ChangedLog, "log"}, {monitor.ChangedStatus, "status"}, {monitor.ChangedSettings, "settings"},
	{monitor.ChangedDeliveries, "deliveries"}, {monitor.ChangedChannels, "integrations"}, {monitor.ChangedProject, "project"},
	{monitor.ChangedStatusPages, "pages"},
}

func eventOf(n news, version string) event {
	if n.clock {
		n.kinds |= monitor.ChangedStatus
	}
	e := event{Version: version, Kinds: []string{}}
	for _, k := range kindWords {
		if n.kinds&k.kind != 0 {
			e.Kinds = append(e.Kinds, k.word)
		}
	}
	if !n.all {
		e.Checks = []string{}
		for id := range n.checks {
			e.Checks = append(e.Checks, checks.UniqueKey(id))
		}
	}
	return e
}

// events is the stream of a project's changes, as Server-Sent Events: "hello" with the current version at first, "change"
// from then on, and "counts" with the number of checks that are down and late whenever that is another.
func (d *Dashboard) events(q *request) error {
	follower := d.lives.follow(q.project.ID)
	one := follower.join()
	defer follower.leave(one)
	control := http.NewResponseController(q.w)
	_ = control.SetReadDeadline(time.Time{}) // the server's timeouts are for requests that end
	send := func(format string, args ...any) error {
		_ = control.SetWriteDeadline(time.Now().Add(streamTimeout))
		if _, err := fmt.Fprintf(q.w, format, args...); err != nil {
			return err
		}
		return control.Flush()
	}
	q.w.Header().Set("Content-Type", "text/event-stream")
	q.w.Header().Set("X-Accel-Buffering", "no") // nginx
	if send("retry: 2000\nevent: hello\ndata: %s\n\n", follower.version()) != nil {
		return nil
	}
	counted := counts{down: -1}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-q.ctx().Done():
			return nil
		case <-beat.C:
			if send(":\n\n") != nil {
				return nil
			}
		case _, ok := <-one.ready:
			if !ok {
				return nil
			}
			n, now := follower.take(one)
			if now != counted {
				counted = now
				if send("event: counts\ndata: {\"down\":%d,\"late\":%d}\n\n", now.down, now.late) != nil {
					return nil
				}
			}
			if n.kinds == 0 && !n.clock {
				continue
			}
			if !q.stillMay() {
				return nil
			}
			data, err := json.Marshal(eventOf(n, follower.version()))
			if err != nil || send("event: change\ndata: %s\n\n", data) != nil {
				return nil
			}
		}
	}
}

// stillMay reports whether the viewer may still see the project.
func (q *request) stillMay() bool {
	access, err := q.authorize()
	if err != nil {
		return false
	}
	_, ok := access.project(q.project.ID)
	return ok
}

// Close ends the streams of open pages, for a server that shuts down. Pages connect again to the server that follows.
func (d *Dashboard) Close() {
	d.lives.close()
	d.status.Close()
}
