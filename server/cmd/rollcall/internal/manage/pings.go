package manage

import (
	"context"
	"strconv"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type checkPingsCmd struct {
	checkFlags
	Limit int              `short:"n" default:"100" placeholder:"N" help:"Maximum number of pings, at least 1. The newest come first."`
	Since *console.Instant `placeholder:"TIME" help:"Only pings at or after this time, in the form 2026-01-02T15:04:05Z or with an offset."`
}

func (checkPingsCmd) Help() string {
	return `The service keeps the newest 1000 pings of a check, or 100 on the free plan. With --url, the key selects the project; only an
admin key of the installation needs --project.

With --json: an array of ` + keys[pingDoc]() + `, where
duration is in seconds and it and rid are null if there is none.

Examples:

    rollcall check pings nightly -n 20
    rollcall check pings nightly --since 2026-03-07T00:00:00Z --url https://rollcall.example.org --api-key rcw_…`
}

// Validate checks the flags. Kong calls it.
func (c *checkPingsCmd) Validate() error {
	if err := console.AtLeast("--limit", c.Limit, 1); err != nil {
		return err
	}
	return c.placeFlags.Validate()
}

// pingDoc is a ping in JSON, with what a server tells about it.
type pingDoc struct {
	N          int64      `json:"n"`
	Type       pings.Kind `json:"type"`
	Date       string     `json:"date"`
	Duration   *float64   `json:"duration"`
	RID        *string    `json:"rid"`
	Scheme     string     `json:"scheme"`
	Method     string     `json:"method"`
	RemoteAddr string     `json:"remote_addr"`
	UA         string     `json:"ua"`
	HasBody    bool       `json:"has_body"`
}

func newPingDoc(p pings.Ping) pingDoc {
	d := pingDoc{
		N: p.N, Type: p.Kind, Date: console.Timestamp(p.At), Scheme: p.Scheme, Method: p.Method, RemoteAddr: p.RemoteAddr, UA: p.UserAgent, HasBody: p.BodySize != 0,
	}
	if p.Duration != nil {
		d.Duration = new(p.Duration.Seconds())
	}
	if p.RunID.Valid {
		d.RID = new(p.RunID.UUID.String())
	}
	return d
}

// pingList is how pings are listed.
var pingList = list[pingDoc]{
	{"N", func(d pingDoc) string { return strconv.FormatInt(d.N, 10) }},
	{"DATE", func(d pingDoc) string { return d.Date }},
	{"TYPE", func(d pingDoc) string { return string(d.Type) }},
	{"DURATION", func(d pingDoc) string {
		if d.Duration == nil {
			return ""
		}
		return strconv.FormatFloat(*d.Duration, 'f', -1, 64) + "s"
	}},
	{"BODY", func(d pingDoc) string {
		if d.HasBody {
			return "yes"
		}
		return ""
	}},
	{"SCHEME", func(d pingDoc) string { return d.Scheme }},
	{"ADDRESS", func(d pingDoc) string { return d.RemoteAddr }},
	{"USER AGENT", func(d pingDoc) string { return d.UA }},
}

func (c *checkPingsCmd) Run(ctx context.Context, a *App) error {
	query := checks.PingQuery{Limit: c.Limit}
	if c.Since != nil {
		query.Since = c.Since.Time
	}
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		list, err := checks.Collect(p.Pings(ctx, check.ID, query))
		if err != nil {
			return console.Missing(err, "check %q", check.ID)
		}
		return pingList.print(c.JSONFlag, a.Stdout, each(list, newPingDoc))
	})
}
