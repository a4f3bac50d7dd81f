package webhook

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// document is the default body. The package comment documents it.
type document struct {
	ID       string           `json:"id"`
	Incident string           `json:"incident"`
	Type     string           `json:"type"`
	Status   channels.Status  `json:"status"`
	At       *string          `json:"at"`
	Reason   string           `json:"reason"`
	Cause    string           `json:"cause"`
	Check    checkDocument    `json:"check"`
	Ping     *pingDocument    `json:"ping"`
	DownFor  int64            `json:"down_for"`
	Reminder int              `json:"reminder"`
	Over     *string          `json:"over"`
	Earlier  []changeDocument `json:"earlier"`
	Test     bool             `json:"test"`
	AckURL   string           `json:"ack_url,omitempty"`
}

type checkDocument struct {
	UUID     uuid.UUID       `json:"uuid"`
	Name     string          `json:"name"`
	Slug     string          `json:"slug"`
	Tags     string          `json:"tags"`
	Desc     string          `json:"desc"`
	Project  string          `json:"project"`
	Timing   string          `json:"timing"`
	NPings   int64           `json:"n_pings"`
	Status   channels.Status `json:"status"`
	LastPing *string         `json:"last_ping"`
	URL      string          `json:"url"`
}

type pingDocument struct {
	At         *string  `json:"at"`
	Kind       string   `json:"kind"`
	ExitStatus *int     `json:"exit_status"`
	Duration   *float64 `json:"duration"`
	Body       string   `json:"body"`
	BodyEnd    string   `json:"body_end"`
	BodyCut    int64    `json:"body_cut,omitempty"`
}

type changeDocument struct {
	Status channels.Status `json:"status"`
	At     *string         `json:"at"`
	Reason string          `json:"reason"`
}

func newDocument(n channels.Notification) document {
	d := document{
		ID: n.ID, Incident: n.Incident, Type: "check." + string(n.Status), Status: n.Status, At: formatTime(n.At),
		Reason: n.Reason, Cause: n.Cause, DownFor: int64(n.DownFor / time.Second), Reminder: n.Reminder,
		Over: formatTime(n.Over), Earlier: make([]changeDocument, len(n.Earlier)), Test: n.Test, AckURL: n.AckURL,
		Check: checkDocument{
			UUID: n.Check.ID, Name: n.Check.Name, Slug: n.Check.Slug, Tags: strings.Join(n.Check.Tags, " "), Desc: n.Check.Desc,
			Project: n.Check.Project, Timing: n.Check.Timing, NPings: n.Check.NPings, Status: n.Status, LastPing: formatTime(n.Ping.At),
			URL: n.Check.URL,
		},
	}
	if p := n.Ping; !p.At.IsZero() {
		d.Ping = &pingDocument{
			At: formatTime(p.At), Kind: p.Kind, ExitStatus: p.ExitStatus, Body: string(p.Body), BodyEnd: string(p.End), BodyCut: p.BodyCut,
		}
		if p.Duration > 0 {
			d.Ping.Duration = new(p.Duration.Seconds())
		}
	}
	for i, c := range n.Earlier {
		d.Earlier[i] = changeDocument{Status: c.Status, At: formatTime(c.At), Reason: c.Reason}
	}
	return d
}

// formatTime returns nil for the zero time.
func formatTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(timeFormat))
}

// encode returns JSON with <, > and & unescaped, as chat services want it. Invalid UTF-8 becomes U+FFFD.
func encode(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "null" // none of the types here can fail
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
