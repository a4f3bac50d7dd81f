package integrations

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// deliveriesPerPage is how many deliveries a page shows.
const deliveriesPerPage = 50

// deliveriesView is the data of the history of deliveries.
type deliveriesView struct {
	Query deliveryQuery
	// Alerts are the deliveries of the page by alert, the newest first.
	Alerts []deliveryAlert
	// Failing are the integrations at which alerts do not arrive now, for the page that filters nothing.
	Failing []integration
	// Channels are the integrations to filter by, and Checks names of checks to choose from, if there are not too many.
	Channels []ui.Choice
	Checks   []string
	States   []checks.DeliveryState
	// Problem says what is wrong with the filter.
	Problem string
	// Failed reports whether deliveries of the project have failed.
	Failed bool
	// Older is the address of the next page, or "".
	Older string
}

// deliveryAlert is an alert in the list: its oldest delivery on the page, which names it, and all of them, those that failed first.
type deliveryAlert struct {
	deliveryRow
	Rows []deliveryRow
}

// deliveryRow is a delivery in the list.
type deliveryRow struct {
	checks.Delivery
	Check, Channel string // names
	Key            string // the unique key of the check, for links
	Why            string // why the check changed
	Sending        bool   // an attempt is in progress
	Link           bool   // the channel has a page that the viewer may see
}

// deliveryQuery is what the address of the history says.
type deliveryQuery struct {
	State   checks.DeliveryState
	Check   string // a unique key, or a UUID, name or slug as a person types it
	Channel string // a UUID
	Before  int64
}

func parseDeliveryQuery(v url.Values) deliveryQuery {
	q := deliveryQuery{State: checks.DeliveryState(v.Get("state")), Check: ui.Typed(v.Get("check")), Channel: v.Get("integration")}
	if !slices.Contains(deliveryStates, q.State) {
		q.State = ""
	}
	if before, err := strconv.ParseInt(v.Get("before"), 10, 64); err == nil && before > 0 {
		q.Before = before
	}
	return q
}

var deliveryStates = []checks.DeliveryState{
	checks.DeliveryFailed, checks.DeliveryPending, checks.DeliverySent, checks.DeliverySuperseded, checks.DeliverySkipped,
}

// Filtered reports whether the query leaves out some deliveries.
func (q deliveryQuery) Filtered() bool { return q.State != "" || q.Check != "" || q.Channel != "" }

// Encode returns the query of an address, for a page that begins below an identifier.
func (q deliveryQuery) Encode(before int64) string {
	v := url.Values{}
	for name, value := range map[string]string{"state": string(q.State), "check": q.Check, "integration": q.Channel} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if before > 0 {
		v.Set("before", strconv.FormatInt(before, 10))
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

// deliveriesPage shows the history of deliveries.
func deliveriesPage(q *ui.Request) error {
	view := deliveriesView{Query: parseDeliveryQuery(q.R.URL.Query()), States: deliveryStates}
	list, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return err
	}
	for _, c := range list {
		view.Channels = append(view.Channels, ui.Choice{Value: c.ID.String(), Label: ui.ChannelName(c), Selected: c.ID.String() == view.Query.Channel})
	}
	if !view.Query.Filtered() && view.Query.Before == 0 {
		if view.Failing, err = failing(q, list); err != nil {
			return err
		}
	}
	query := checks.DeliveryQuery{State: view.Query.State, Before: view.Query.Before, Limit: deliveriesPerPage + 1}
	if query.Check, err = findCheck(q, &view); err != nil {
		return err
	}
	if view.Query.Channel != "" {
		if query.Channel, err = uuid.Parse(view.Query.Channel); err != nil {
			return checks.ErrNotFound
		}
	}
	if view.Problem == "" {
		if err := readDeliveries(q, &view, query); err != nil {
			return err
		}
	}
	for _, err := range q.Mon.Project(q.Project.ID).Deliveries(q.Ctx(), checks.DeliveryQuery{State: checks.DeliveryFailed, Limit: 1}) {
		if err != nil {
			return err
		}
		view.Failed = true
	}
	return q.Render("deliveries", "Deliveries", view)
}

func readDeliveries(q *ui.Request, view *deliveriesView, query checks.DeliveryQuery) error {
	var rows []checks.Delivery
	for d, err := range q.Mon.Project(q.Project.ID).Deliveries(q.Ctx(), query) {
		if err != nil {
			return err
		}
		if len(rows) == deliveriesPerPage {
			view.Older = view.Query.Encode(rows[len(rows)-1].ID)
			break
		}
		rows = append(rows, d)
	}
	for _, d := range rows {
		row := deliveryRowOf(q.UnnamedAlert(d), q.Right.Edits())
		if n := len(view.Alerts); n == 0 || !sameAlert(&view.Alerts[n-1].deliveryRow, &row) {
			view.Alerts = append(view.Alerts, deliveryAlert{})
		}
		a := &view.Alerts[len(view.Alerts)-1]
		a.deliveryRow, a.Rows = row, append(a.Rows, row)
	}
	for _, a := range view.Alerts {
		slices.SortStableFunc(a.Rows, func(a, b deliveryRow) int {
			return cmp.Or(ui.TrueFirst(a.State == checks.DeliveryFailed, b.State == checks.DeliveryFailed), strings.Compare(a.Channel, b.Channel))
		})
	}
	return view.addCauses(q)
}

// addCauses adds what the output of the job says to the rows of alerts about the newest failure of their check.
func (v *deliveriesView) addCauses(q *ui.Request) error {
	failed := map[uuid.UUID]bool{}
	for _, a := range v.Alerts {
		failed[a.CheckID] = failed[a.CheckID] || a.Reason == flips.Failure && a.Status == channels.Down
	}
	var list []checks.Check
	for id, some := range failed {
		if !some {
			continue
		}
		c, err := q.Mon.Project(q.Project.ID).Check(q.Ctx(), id)
		if errors.Is(err, checks.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		list = append(list, *c.Check)
	}
	found, err := q.Failures(list)
	for i := range v.Alerts {
		a := &v.Alerts[i]
		if f := found[a.CheckID]; a.Reason == flips.Failure && f.Cause != "" && f.At.Equal(a.CreatedAt) {
			a.Why += ": " + f.Why()
		}
	}
	return err
}

func deliveryRowOf(d checks.Delivery, edit bool) deliveryRow {
	to := ui.ChannelName(channels.Channel{Name: d.ChannelName, Kind: d.ChannelKind})
	if d.Recipient != "" {
		to += ": " + d.Recipient
	}
	return deliveryRow{
		Delivery: d, Check: words.Name(d.CheckName, "unnamed check"), Key: checks.UniqueKey(d.CheckID),
		Channel: to, Why: d.Reason.Words(), Sending: d.State == checks.DeliveryPending && d.Attempts > 0 && d.Error == "",
		Link: edit && d.ChannelKind != channels.Function,
	}
}

// maxNames is up to how many checks the field of a filter suggests their names.
const maxNames = 300

// findCheck returns the check that the filter names, or none with a problem in the view.
func findCheck(q *ui.Request, view *deliveriesView) (uuid.UUID, error) {
	if err := view.suggest(q); err != nil || view.Query.Check == "" {
		return uuid.Nil, err
	}
	text := view.Query.Check
	lower := strings.ToLower(text)
	matches := [...]func(checks.Snapshot) bool{
		func(c checks.Snapshot) bool { return c.UniqueKey == text || c.ID.String() == text },
		func(c checks.Snapshot) bool { return c.Slug == text },
		func(c checks.Snapshot) bool { return strings.EqualFold(words.Name(c.Name, ""), text) },
		func(c checks.Snapshot) bool { return strings.Contains(strings.ToLower(words.Name(c.Name, "")), lower) },
	}
	var found [len(matches)]struct {
		first  checks.Snapshot
		number int
	}
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return uuid.Nil, err
		}
		for i, match := range matches {
			if f := &found[i]; match(c) {
				if f.number++; f.number == 1 {
					f.first = c
				}
			}
		}
	}
	for _, f := range found {
		switch f.number {
		case 0:
			continue
		case 1:
			typed, err := typedName(q, f.first)
			view.Query.Check = typed
			return f.first.ID, err
		}
		view.Problem = fmt.Sprintf("%d checks match “%s”. Enter the slug of one.", f.number, text)
		return uuid.Nil, nil
	}
	view.Problem = fmt.Sprintf("No check matches “%s”.", text)
	return uuid.Nil, nil
}

// suggest fills in the names that the field suggests, unless there are too many.
func (v *deliveriesView) suggest(q *ui.Request) error {
	number := 0
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return err
		}
		if number++; number > maxNames {
			v.Checks = nil
			return nil
		}
		if name := words.Name(c.Name, ""); name != "" && !slices.Contains(v.Checks, name) {
			v.Checks = append(v.Checks, name)
		}
	}
	return nil
}

// typedName returns what finds a check again: its slug or its name if no other has it, or else its unique key.
func typedName(q *ui.Request, c checks.Snapshot) (string, error) {
	slug, name := c.Slug, words.Name(c.Name, "")
	slugs, names := 0, 0
	for other, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(other.Slug, slug) {
			slugs++
		}
		if strings.EqualFold(words.Name(other.Name, ""), name) {
			names++
		}
	}
	switch alone := func(text string, n int) bool { return text != "" && strings.TrimSpace(text) == text && n == 1 }; {
	case alone(slug, slugs):
		return slug, nil
	case alone(name, names):
		return name, nil
	}
	return c.UniqueKey, nil
}

// retryDelivery makes one failed delivery pending again.
func retryDelivery(q *ui.Request) error {
	id, err := strconv.ParseInt(q.R.PostForm.Get("id"), 10, 64)
	if err != nil {
		return ui.ErrBadForm
	}
	_, err = q.Mon.Project(q.Project.ID).RetryDeliveries(q.Ctx(), []int64{id})
	switch {
	case errors.Is(err, checks.ErrNotFound):
		q.Notice("This delivery is no longer failed.")
	case err != nil:
		return err
	default:
		q.Notice("Sending the alert again.")
	}
	return backToDeliveries(q)
}

// retryFailedPage asks before all failed alerts are sent again.
func retryFailedPage(q *ui.Request) error {
	view := struct {
		Query string
		Rows  []deliveryRow
		More  bool
	}{Query: parseDeliveryQuery(q.R.URL.Query()).Encode(0)}
	for d, err := range q.Mon.Project(q.Project.ID).Deliveries(q.Ctx(), checks.DeliveryQuery{State: checks.DeliveryFailed, Limit: maxListed + 1}) {
		if err != nil {
			return err
		}
		if view.More = len(view.Rows) == maxListed; !view.More {
			view.Rows = append(view.Rows, deliveryRowOf(d, q.Right.Edits()))
		}
	}
	return q.Render("retryfailed", "Retry failed alerts", view)
}

// maxListed is how many failed alerts the page lists.
const maxListed = 200

// retryFailed makes all failed deliveries pending again.
func retryFailed(q *ui.Request) error {
	n, err := q.Mon.Project(q.Project.ID).RetryFailed(q.Ctx())
	if err != nil {
		return err
	}
	q.Notice(fmt.Sprintf("Sending %s again.", prose.Count(n, "alert")))
	return backToDeliveries(q)
}

func backToDeliveries(q *ui.Request) error {
	query := parseDeliveryQuery(q.R.URL.Query())
	return q.Redirect("/projects/%s/deliveries%s", q.Project.ID, query.Encode(query.Before))
}

// Word is the word for the state.
func (r deliveryRow) Word() string {
	switch {
	case r.Sending:
		return "sending"
	case r.State == checks.DeliveryPending && r.Error != "":
		return "retrying"
	case r.State == checks.DeliveryPending:
		return "waiting"
	case r.State == checks.DeliverySuperseded:
		return "replaced"
	}
	return string(r.State)
}

// Later is how long after the alert it was sent, or "" if that was at once.
func (r deliveryRow) Later() string {
	if d := r.FinishedAt.Sub(r.CreatedAt); r.State == checks.DeliverySent && d >= time.Second {
		return prose.Duration(d) + " later"
	}
	return ""
}

// Hint says what the state means, where that is not obvious.
func (r deliveryRow) Hint() string {
	switch {
	case words.LaterStep(r.Delivery):
		return "escalation"
	case r.State == checks.DeliverySuperseded:
		return "replaced by a newer alert about this check"
	case r.Batch != 0 && r.Held == "" && r.State != checks.DeliverySkipped:
		return "in one message with other checks"
	}
	return words.Kept(r.Delivery, "")
}

// NextTry is when a pending delivery is tried next, or the zero time.
func (r deliveryRow) NextTry() time.Time {
	if r.Sending {
		return time.Time{}
	}
	return r.Due
}
