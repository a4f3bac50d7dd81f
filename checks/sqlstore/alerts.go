package sqlstore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// selectAlerts reads deliveries, each with its channel, its flip and the instants of the flips around it, the name of its
// project, what is open at its receiver, and what the gate needs: whether there may be policies of the project, which may have
// ended since the alert was raised, and whether it dropped the alert before.
var selectAlerts = `SELECT d.id, d.flip_id, d.check_id, d.channel_id, d.reminder, d.since, d.close, d.recipient, pr.name AS project, i.open,
		pr.storm_checks, pr.storm_window,
		ch.id AS ch_id, ch.project_id AS ch_project_id, ch.kind AS ch_kind, ch.name AS ch_name, ch.settings AS ch_settings,
		ch.sources AS ch_sources, ch.created_at AS ch_created_at, ch.failed_at AS ch_failed_at, ch.error AS ch_error,
		f.at AS flip_at, f.up AS flip_up, f.reason, f.clock,
		CASE WHEN d.reminder > 0 THEN (SELECT max(o.finished_at) FROM ` + before + ` AND ` + reached + `) END AS told_at,
		CASE WHEN d.reminder > 0 THEN (SELECT count(*) FROM ` + before + ` AND o.reminder > 0 AND ` + heard + `) ELSE 0 END AS reminders,
		d.recipient = '' AND EXISTS (SELECT 1 FROM rollcall_deliveries AS o WHERE o.state = 'pending'
			AND o.check_id = d.check_id AND o.channel_id = d.channel_id AND o.recipient <> '') AS divided,
		EXISTS (SELECT 1 FROM rollcall_windows AS w
			WHERE w.project_id = c.project_id AND (w.ends_at IS NULL OR w.ends_at > d.created_at))
			OR EXISTS (SELECT 1 FROM rollcall_escalations AS e WHERE e.channel_id = d.channel_id AND e.after > 0) AS governed,
		CASE WHEN f.up THEN ` + lastEarlier("o.state = 'skipped'", "TRUE") + ` END AS dropped,
		CASE WHEN f.up THEN ` + knows + ` END AS knows,
		CASE WHEN f.up THEN (SELECT b.at FROM rollcall_flips AS b WHERE b.check_id = f.check_id
			AND b.at <= f.at AND b.id < f.id AND NOT b.up ORDER BY b.at DESC, b.id DESC LIMIT 1) END AS down_at,
		CASE WHEN NOT f.up THEN (SELECT CASE WHEN a.up THEN a.at WHEN EXISTS (SELECT 1 FROM rollcall_deliveries AS o WHERE o.check_id = d.check_id
			AND o.channel_id = d.channel_id AND o.recipient IN ('', d.recipient) AND o.flip_id > d.flip_id AND ` + reached + `) THEN -1 END FROM rollcall_flips AS a WHERE a.check_id = f.check_id
			AND a.at >= f.at AND a.id > f.id ORDER BY a.at, a.id LIMIT 1) END AS up_at
	FROM rollcall_deliveries AS d
	JOIN rollcall_checks AS c ON c.id = d.check_id JOIN rollcall_projects AS pr ON pr.id = c.project_id
	LEFT JOIN rollcall_channels AS ch ON ch.id = d.channel_id
	LEFT JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id
	LEFT JOIN rollcall_incidents AS i ON i.check_uuid = c.uuid AND i.channel_id = d.channel_id
	WHERE d.id IN (?) AND (ch.id IS NOT NULL OR d.channel_id = ?)`

// before selects the other deliveries o of the line of d about the same flip. A reminder that was kept back may follow later ones.
const before = `rollcall_deliveries AS o WHERE o.check_id = d.check_id AND o.channel_id = d.channel_id
	AND o.flip_id = d.flip_id AND o.recipient IN ('', d.recipient) AND o.id <> d.id`

// lastEarlier returns a value of the last delivery o about another flip l that is before d in its line and meets a condition. Few are to
// single recipients, whose places are in no index.
func lastEarlier(value, condition string) string {
	last := func(before, order string) string {
		return "(SELECT " + value + ` FROM rollcall_deliveries AS o LEFT JOIN rollcall_flips AS l ON l.id = o.flip_id AND l.check_id = o.check_id
			WHERE o.check_id = d.check_id AND o.channel_id = d.channel_id AND o.recipient IN ('', d.recipient) AND o.flip_id <> d.flip_id
			AND ` + before + " AND " + condition + " ORDER BY " + order + " DESC, o.id DESC LIMIT 1)"
	}
	return "CASE WHEN d.origin <= 0 THEN " + last("o.id < d.id", "o.id") + " ELSE " + last(place("o")+" < d.origin", place("o")) + " END"
}

// knows says of a delivery d that a check is up that its recipient may believe in an outage.
var knows = lastEarlier("NOT "+saysUp, "CASE WHEN "+saysUp+" THEN "+reached+" ELSE "+heard+" END")

// place returns where a delivery stands in its line: one to a single recipient where the one stood that it was handed over from.
func place(d string) string {
	return "CASE WHEN " + d + ".origin > 0 THEN " + d + ".origin ELSE " + d + ".id END"
}

// laterClose selects the deliveries k that close the incident of the line of a delivery o after it.
var laterClose = `SELECT 1 FROM rollcall_deliveries AS k WHERE k.check_id = o.check_id AND k.channel_id = o.channel_id
	AND k.id > ` + place("o") + ` AND k.close <> ''`

// heard says of a delivery o that somebody may have heard it: it was sent, or tried. What is dropped untried has no attempts.
const heard = `(o.state = 'sent' OR o.attempts > 0)`

// reached says of a delivery o that somebody has heard it: all that were left, or some, while others have not, or have refused it.
const reached = `(o.state = 'sent' OR o.state IN ('failed', 'pending') AND o.done LIKE '[["%')` // as doneText begins

// saysUp says of a delivery o about a flip l that it reports the end of an outage.
const saysUp = `(o.close <> '' OR coalesce(l.up, FALSE))`

// alertRow is a row of selectAlerts.
type alertRow struct {
	deliveryRow

	Channel channelRow `bun:"embed:ch_"`
	Project string     `bun:"project"`
	Open    string     `bun:"open"`
	FlipAt  int64      `bun:"flip_at"`
	FlipUp  bool       `bun:"flip_up"`
	Reason  string     `bun:"reason"`
	Clock   string     `bun:"clock"`
	ToldAt  int64      `bun:"told_at"`
	Sent    int64      `bun:"reminders"`
	Divided bool       `bun:"divided"`
	DownAt  int64      `bun:"down_at"`
	UpAt    int64      `bun:"up_at"` // -1 if the check next went down, after a pause, and its line has told of a later flip

	Governed bool `bun:"governed"`
	Dropped  bool `bun:"dropped"` // the delivery before that the check is up
	Knows    bool `bun:"knows"`   // somebody of an outage

	StormChecks int   `bun:"storm_checks"`
	StormWindow int64 `bun:"storm_window"` // in seconds
}

// alert returns the alert of a row, as far as that holds it.
func (r *alertRow) alert(claimed store.QueuedDelivery) (a store.Alert, err error) {
	claimed.Reminder = int(min(r.Reminder, r.Sent+1))
	a = store.Alert{
		QueuedDelivery: claimed, Project: r.Project, Channel: store.OnAlert, Told: instant(r.ToldAt),
		Flip:   store.AlertFlip{ID: r.FlipID, At: instant(r.FlipAt), Up: r.FlipUp, Reason: flips.Reason(r.Reason)},
		DownAt: instant(r.DownAt), UpAt: instant(max(0, r.UpAt)), Replaced: r.UpAt < 0 && r.Close == "", Close: r.Close, Open: r.Open,
		Storm: gate.Storm{Checks: r.StormChecks, Window: time.Duration(r.StormWindow) * time.Second},
	}
	if r.Clock != "" && json.Unmarshal([]byte(r.Clock), &a.Flip.Clock) != nil {
		a.Flip.Clock = gate.Clock{} // better a step too early than none
	}
	if r.ChannelID != store.OnAlert.ID {
		if a.Channel, err = r.Channel.channel(); a.Channel.Kind == channels.Group {
			a.Told = time.Time{} // what it passes on, its members may have heard long ago
		}
	}
	// One that sums up quiet hours is news to all, unless they only kept the end back. A function may be new, the history can be older than
	// what is kept, and who hears of ends alone has chosen that.
	sumsUp := r.Since != 0 && r.Since < r.FlipAt
	a.Unheard = r.FlipUp && r.Close == "" && !r.Knows && (r.Dropped || !sumsUp && r.ChannelID != store.OnAlert.ID) &&
		r.DownAt != 0 && a.Channel.Wants(channels.Down)
	return a, err
}

// Alerts returns the content of claimed deliveries, with a fixed number of queries.
func (s *database) Alerts(ctx context.Context, claimed []store.QueuedDelivery) (alerts []store.Alert, err error) {
	if len(claimed) == 0 {
		return nil, nil
	}
	byID := make(map[int64]store.QueuedDelivery, len(claimed))
	for _, q := range claimed {
		byID[q.ID] = q
	}
	var rows []alertRow
	ids := slices.Collect(maps.Keys(byID))
	if err := s.db.NewRaw(selectAlerts, bun.List(ids), store.OnAlert.ID).Scan(ctx, &rows); err != nil || len(rows) == 0 {
		return nil, s.translate(err)
	}
	about, err := s.subjects(ctx, rows)
	if err != nil {
		return nil, s.translate(err)
	}
	groups := make(map[uuid.UUID][]uuid.UUID)
	var summaries, divided []int64
	for i := range rows {
		subject, known := about[rows[i].CheckID]
		if !known {
			continue
		}
		a, err := rows[i].alert(byID[rows[i].ID])
		if err != nil {
			return nil, err
		}
		a.Check, a.Ping, a.BodyEnd = subject.check, subject.ping, subject.bodyEnd
		a.Governed = a.Close == "" && (rows[i].Governed || a.Unheard || a.Replaced || a.Held != "" || a.Reminder > 0 && a.Early(a.CreatedAt) || a.Check.QuietHours != "" || a.Check.After != "" || a.Check.RecordOnly || !a.Check.Ack.At.IsZero())
		if a.Channel.Kind == channels.Group {
			groups[a.Channel.ID] = selection.Members(a.Channel)
		}
		if rows[i].Since != 0 {
			summaries = append(summaries, a.ID)
		}
		if rows[i].Divided {
			divided = append(divided, a.ID)
		}
		alerts = append(alerts, a)
	}
	if len(groups)+len(summaries)+len(divided) > 0 {
		err = s.completeAlerts(ctx, alerts, groups, summaries, divided)
	}
	return alerts, s.translate(err)
}

// completeAlerts adds the members of groups, the flips that some alerts sum up, and the recipients that some leave out.
func (s *database) completeAlerts(
	ctx context.Context, alerts []store.Alert, groups map[uuid.UUID][]uuid.UUID, summaries, divided []int64,
) error {
	members, err := s.groupMembers(ctx, groups)
	if err != nil {
		return err
	}
	earlier, err := s.earlierFlips(ctx, summaries)
	if err != nil {
		return err
	}
	apart, err := s.apart(ctx, divided)
	for i := range alerts {
		alerts[i].Members, alerts[i].Earlier = members[alerts[i].Channel.ID], earlier[alerts[i].ID]
		alerts[i].Apart = apart[alerts[i].ID]
	}
	return err
}

// apart returns the recipients that have pending deliveries of their own in the lines of deliveries, in their order.
func (s *database) apart(ctx context.Context, ids []int64) (map[int64][]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct {
		ID        int64  `bun:"id"`
		Recipient string `bun:"recipient"`
	}
	err := s.db.NewRaw(`SELECT DISTINCT d.id, o.recipient FROM rollcall_deliveries AS d JOIN rollcall_deliveries AS o
			ON o.state = 'pending' AND o.check_id = d.check_id AND o.channel_id = d.channel_id AND o.recipient <> ''
		WHERE d.id IN (?) ORDER BY d.id, o.recipient`, bun.List(ids)).Scan(ctx, &rows)
	apart := make(map[int64][]string)
	for _, r := range rows {
		apart[r.ID] = append(apart[r.ID], r.Recipient)
	}
	return apart, err
}

// groupMembers returns the existing members of groups, oldest first.
func (s *database) groupMembers(ctx context.Context, groups map[uuid.UUID][]uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	ids := slices.Concat(slices.Collect(maps.Values(groups))...)
	if len(ids) == 0 {
		return nil, nil
	}
	var existing []uuid.UUID
	err := s.db.NewRaw("SELECT ch.id FROM rollcall_channels AS ch WHERE ch.id IN (?) ORDER BY ch.created_at, ch.id",
		bun.List(ids)).Scan(ctx, &existing)
	members := make(map[uuid.UUID][]uuid.UUID, len(groups))
	for group, wanted := range groups {
		for _, id := range existing {
			if slices.Contains(wanted, id) {
				members[group] = append(members[group], id)
			}
		}
	}
	return members, err
}

// subject is what an alert is about: a check and the newest entry of its log, with the end of its body.
type subject struct {
	check   checks.Check
	ping    pings.Ping
	bodyEnd []byte
}

// subjects reads the checks of alerts, by their keys.
func (s *database) subjects(ctx context.Context, alerts []alertRow) (map[int64]subject, error) {
	ids := make([]int64, len(alerts))
	for i := range alerts {
		ids[i] = alerts[i].CheckID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var found []*checkRow
	err := s.read(ctx, func(l layout) (err error) {
		found, err = l.rows(ctx, s.db.DB, s.d.text(withKeys), s.d.list(ids))
		return err
	})
	if err != nil {
		return nil, err
	}
	about := make(map[int64]subject, len(found))
	for _, row := range found {
		check, err := s.check(row)
		if err != nil {
			return nil, err
		}
		about[row.id] = subject{check: check}
	}
	var newest []struct {
		CheckID int64  `bun:"check_id"`
		BodyEnd []byte `bun:"body_end"`
		pingRow
	}
	err = s.db.NewRaw(`SELECT s.check_id, `+pingColumns+`, substr(p.body, 1, ?0) AS body, p.object,
			substr(p.body, CASE WHEN length(p.body) > ?1 THEN length(p.body) - ?1 + 1 ELSE 1 END) AS body_end
		FROM rollcall_states AS s JOIN rollcall_pings AS p ON p.id = s.log_head AND p.check_id = s.check_id
		WHERE s.check_id IN (?2)`, channels.MaxBody, store.AlertEnd, bun.List(ids)).Scan(ctx, &newest)
	if err != nil {
		return nil, err
	}
	for i := range newest {
		a, known := about[newest[i].CheckID]
		if a.ping, err = newest[i].ping(); err != nil {
			return nil, err
		}
		if a.bodyEnd = newest[i].BodyEnd; known {
			about[newest[i].CheckID] = a
		}
	}
	return about, nil
}

// earlierFlips reads the flips that deliveries sum up, oldest first.
func (s *database) earlierFlips(ctx context.Context, ids []int64) (map[int64][]store.AlertFlip, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct {
		DeliveryID int64  `bun:"delivery_id"`
		At         int64  `bun:"at"`
		Up         bool   `bun:"up"`
		Reason     string `bun:"reason"`
	}
	err := s.db.NewRaw(`SELECT delivery_id, at, up, reason FROM (
			SELECT d.id AS delivery_id, e.id, e.at, e.up, e.reason,
				row_number() OVER (PARTITION BY d.id ORDER BY e.at DESC, e.id DESC) AS n
			FROM rollcall_deliveries AS d JOIN rollcall_flips AS e
				ON e.check_id = d.check_id AND e.at >= d.since AND e.id < d.flip_id
			WHERE d.id IN (?)
		) AS earlier WHERE n <= ? ORDER BY delivery_id, at, id`, bun.List(ids), store.MaxEarlier).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	earlier := make(map[int64][]store.AlertFlip)
	for _, r := range rows {
		earlier[r.DeliveryID] = append(earlier[r.DeliveryID],
			store.AlertFlip{At: instant(r.At), Up: r.Up, Reason: flips.Reason(r.Reason)})
	}
	return earlier, nil
}

// Told looks at the deliveries about the last flip of each check. A group hears nothing itself: its members have their own.
func (s *database) Told(ctx context.Context, ids []uuid.UUID, fresh, now time.Time) (map[uuid.UUID]bool, error) {
	var told []uuid.UUID
	err := s.db.NewRaw(`SELECT c.uuid FROM rollcall_checks AS c WHERE c.uuid IN (?0) AND EXISTS (
		SELECT 1 FROM rollcall_deliveries AS o JOIN rollcall_flips AS f ON f.id = o.flip_id AND f.check_id = o.check_id
		WHERE o.check_id = c.id AND NOT f.up AND o.close = ''
			AND f.id = (SELECT max(l.id) FROM rollcall_flips AS l WHERE l.check_id = c.id)
			AND NOT EXISTS (`+laterClose+`)
			AND (`+reached+` AND NOT EXISTS (SELECT 1 FROM rollcall_channels AS g WHERE g.id = o.channel_id AND g.kind = 'group') OR o.state = 'pending' AND (
				(o.held LIKE ?3 OR o.held = ?4) AND (o.error = '' OR o.due_at = o.held_until) -- held stays when an alert leaves
				OR o.held IN ('', ?5) AND o.created_at > ?1 OR o.held_until > ?1 AND o.held_until <= ?2)))`,
		bun.List(ids), micros(fresh), micros(now), gate.ByParent+"%", gate.ByStep, gate.ByStorm).Scan(ctx, &told)
	set := make(map[uuid.UUID]bool, len(told))
	for _, id := range told {
		set[id] = true
	}
	return set, s.translate(err)
}
