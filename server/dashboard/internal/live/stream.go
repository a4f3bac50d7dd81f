package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
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
	kind checks.ChangeKind
	word string
}{
	{checks.ChangedLog, "log"}, {checks.ChangedStatus, "status"}, {checks.ChangedSettings, "settings"},
	{checks.ChangedDeliveries, "deliveries"}, {checks.ChangedChannels, "integrations"}, {checks.ChangedProject, "project"},
	{checks.ChangedStatusPages, "pages"},
}

func eventOf(n news, version string) event {
	if n.clock {
		n.kinds |= checks.ChangedStatus
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

// Stream sends the project's changes as Server-Sent Events: "hello" with the current version at first, "change" from then
// on, and "counts" with the number of checks that are down and late whenever that is another. It ends when the viewer is gone,
// or with "gone" when mayLook says that the viewer may no longer see the page. Stream asks that before each event, and
// once in recheck unless that is 0.
func (v *Follower) Stream(w http.ResponseWriter, gone <-chan struct{}, recheck time.Duration, mayLook func() bool) {
	one := v.join()
	defer v.leave(one)
	send := sender(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx
	if send("retry: 2000\nevent: hello\ndata: %s\n\n", v.Version()) != nil {
		return
	}
	counted := counts{down: -1}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	var look <-chan time.Time
	if recheck > 0 {
		ticker := time.NewTicker(recheck)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-look:
			if !mayLook() {
				_ = send("event: gone\ndata: {}\n\n")
				return
			}
		case <-gone:
			return
		case <-beat.C:
			if send(":\n\n") != nil {
				return
			}
		case _, ok := <-one.ready:
			if !ok {
				return
			}
			n, now := v.take(one)
			if !mayLook() {
				_ = send("event: gone\ndata: {}\n\n")
				return
			}
			if now != counted {
				counted = now
				if send("event: counts\ndata: {\"down\":%d,\"late\":%d}\n\n", now.down, now.late) != nil {
					return
				}
			}
			if n.kinds == 0 && !n.clock {
				continue
			}
			data, err := json.Marshal(eventOf(n, v.Version()))
			if err != nil || send("event: change\ndata: %s\n\n", data) != nil {
				return
			}
		}
	}
}

// sender returns a function that writes to a stream at once.
func sender(w http.ResponseWriter) func(format string, args ...any) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's timeouts are for requests that end
	return func(format string, args ...any) error {
		_ = control.SetWriteDeadline(time.Now().Add(streamTimeout))
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return control.Flush()
	}
}
