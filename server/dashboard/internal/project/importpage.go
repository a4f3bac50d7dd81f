package project

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/healthchecks"
)

const (
	// importTime bounds the requests of an import, and again its changes.
	importTime = 40 * time.Second
	// importAnswer is how many bytes of an answer an import reads: more than 10,000 checks.
	importAnswer = 16 << 20
	// planAge is how long a plan can be applied.
	planAge = time.Hour
	// maxPlan bounds the text of a plan in a form, which has other fields too.
	maxPlan = ui.MaxForm - 10_000
	// planRows is how many changes a plan shows.
	planRows = 200
)

// ImportClient returns the default of [ui.Config].ImportClient.
func ImportClient() *http.Client {
	return outbound.New(&outbound.Config{MaxAnswer: importAnswer, Timeout: importTime})
}

// importView is the data of the page of an import.
type importView struct {
	Form ui.Form
	// Plan is what the import would do, or nil before it is known.
	Plan *importPlan
}

// importPlan is what an import would do.
type importPlan struct {
	healthchecks.Result
	// Shown are the first changes, without checks that stay the same. Hidden counts the others.
	Shown  []healthchecks.Change
	Hidden int
	// Refusals are the entries that cannot be imported, in words.
	Refusals []string
	// Left are the integrations at the source, which are not imported.
	Left []leftChannel
	// Sealed is the plan in a form.
	Sealed string
	// Over is the check limit of the account, if the import exceeds it, or 0.
	Over, Have int
}

// leftChannel is an integration at the source.
type leftChannel struct {
	Name, Kind string
	Checks     int
}

// Count is how many checks the import would create or update.
func (p *importPlan) Count() int { return p.Created + p.Updated }

func importPage(q *ui.Request) error {
	return showImport(q, http.StatusOK, importView{Form: importForm()})
}

func importForm() ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "url", Label: "Healthchecks server URL", Hint: "https only. To import from a private network, use the command line.", Value: "https://healthchecks.io",
			Type: "url", Attrs: `required maxlength="500" spellcheck="false"`},
		{Name: "key", Label: "API key of that project", Hint: "A read-write key: read-only keys do not show UUIDs. Used for this request only, never stored.", Secret: true,
			Attrs: `autocomplete="off" spellcheck="false" required maxlength="200"`},
	}}
}

func showImport(q *ui.Request, status int, view importView) error {
	return q.RenderStatus(status, "import", "Import from Healthchecks", view)
}

// planImport reads the checks at the source and shows what an import would do, or applies such a plan. Planning changes
// nothing, and the server keeps nothing of the key. The form that applies the plan holds the checks, signed, so that the
// viewer gets what they have seen.
func planImport(q *ui.Request) error {
	if sealed := q.R.PostForm.Get("plan"); sealed != "" {
		return applyImport(q, sealed)
	}
	key := strings.TrimSpace(q.R.PostForm.Get("key"))
	view := importView{Form: importForm()}
	view.Form.Read(q.R.PostForm)
	refuse := func(status int, field, why string) error {
		view.Form.Wrong(field, why)
		return showImport(q, status, view)
	}
	source := view.Form.Value("url")
	address, err := url.Parse(source)
	switch {
	case err != nil || address.Scheme != "https" || address.Host == "":
		return refuse(http.StatusBadRequest, "url", "The address must begin with https://, because the key is sent there.")
	case q.Busy.Wait(q.Project.ID) > 0:
		return refuse(http.StatusTooManyRequests, "", "Too many attempts in a short time. Wait a few seconds, then try again.")
	}
	ctx, cancel := context.WithTimeout(q.Ctx(), importTime)
	defer cancel()
	list, malformed, left, err := readSource(q, ctx, source, key)
	if err != nil {
		field := "url"
		if isKey(err) {
			field = "key"
		}
		return refuse(http.StatusBadRequest, field, importProblem(err, key))
	}
	if view.Plan, err = plan(q, ctx, list, malformed, left); err != nil {
		return err
	}
	if len(view.Plan.Sealed) > maxPlan {
		view.Plan = nil
		return refuse(http.StatusBadRequest, "", "The project is too large for this page. On the server, rollcall import healthchecks imports any number of checks.")
	}
	return showImport(q, http.StatusOK, view)
}

// readSource reads the checks and the integrations at the source.
func readSource(q *ui.Request, ctx context.Context, address, key string) (list []healthchecks.Check, malformed healthchecks.Malformed, left []healthchecks.Channel, err error) {
	source, err := healthchecks.New(address, key, &client.Config{HTTPClient: q.Config.ImportClient, UserAgent: "rollcall import", Timeout: importTime, Tries: 2})
	if err != nil {
		return nil, nil, nil, err
	}
	list, err = source.Checks(ctx)
	if malformed, _ = errors.AsType[healthchecks.Malformed](err); err != nil && malformed == nil {
		return nil, nil, nil, err
	}
	left, err = source.Channels(ctx)
	if _, some := errors.AsType[healthchecks.Malformed](err); err != nil && !some {
		return nil, nil, nil, err
	}
	return list, malformed, left, nil
}

// plan says what an import would do, and seals the checks for the form that does it.
func plan(q *ui.Request, ctx context.Context, list []healthchecks.Check, malformed healthchecks.Malformed, left []healthchecks.Channel) (*importPlan, error) {
	result, err := healthchecks.Import(ctx, q.Mon, q.Project.ID, list, &healthchecks.Options{SkipInvalid: true, Malformed: malformed, DryRun: true})
	if err != nil {
		return nil, err
	}
	plan := &importPlan{Result: result}
	for _, c := range result.Changes {
		switch {
		case c.Action == "":
		case len(plan.Shown) == planRows:
			plan.Hidden++
		default:
			plan.Shown = append(plan.Shown, c)
		}
	}
	for _, r := range result.Refused {
		plan.Refusals = append(plan.Refusals, prose.Line(r.Error(), 300))
	}
	for _, c := range left {
		used := 0
		for _, check := range list {
			if slices.Contains(check.Channels, c.ID) {
				used++
			}
		}
		plan.Left = append(plan.Left, leftChannel{c.Name, c.Kind, used})
	}
	have, err := q.Mon.Project(q.Project.ID).Count(ctx, checks.ListQuery{})
	if err != nil {
		return nil, err
	}
	if plan.Have = have.Total(); q.Project.CheckLimit() > 0 && plan.Have+plan.Created > q.Project.CheckLimit() {
		plan.Over = q.Project.CheckLimit()
	}
	list = slices.DeleteFunc(list, func(c healthchecks.Check) bool {
		return slices.ContainsFunc(result.Refused, func(r healthchecks.Refusal) bool { return r.ID == c.ID })
	})
	plan.Sealed, err = sealPlan(q, list)
	return plan, err
}

// sealPlan puts checks into a text that only this dashboard makes, for this project and for planAge.
func sealPlan(q *ui.Request, list []healthchecks.Check) (string, error) {
	body := bytes.NewBuffer(binary.BigEndian.AppendUint64(nil, uint64(q.Mon.Now().Add(planAge).Unix())))
	z := gzip.NewWriter(body)
	if err := json.NewEncoder(z).Encode(list); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return q.Seals.Seal(q.Ctx(), planPurpose(q), body.Bytes())
}

// openPlan returns the checks of a sealed plan. The error is ui.ErrBadForm for a text that is no plan of the project, or too
// old.
func openPlan(q *ui.Request, sealed string) (list []healthchecks.Check, err error) {
	body, err := q.Seals.Open(q.Ctx(), planPurpose(q), sealed)
	if errors.Is(err, server.ErrSignedOut) || err == nil && len(body) < 8 {
		return nil, ui.ErrBadForm
	}
	if err != nil {
		return nil, err
	}
	if q.Mon.Now().Unix() >= int64(binary.BigEndian.Uint64(body)) {
		return nil, ui.ErrBadForm
	}
	z, err := gzip.NewReader(bytes.NewReader(body[8:]))
	if err != nil {
		return nil, ui.ErrBadForm
	}
	text, err := io.ReadAll(io.LimitReader(z, 2*importAnswer))
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil, ui.ErrBadForm
	}
	return list, nil
}

func planPurpose(q *ui.Request) string { return "import:" + q.Project.ID.String() }

// applyImport makes the changes of a plan.
func applyImport(q *ui.Request, sealed string) error {
	list, err := openPlan(q, sealed)
	if errors.Is(err, ui.ErrBadForm) {
		form := importForm()
		form.Problem = "The plan is too old, so nothing was imported. Read the checks again."
		return showImport(q, http.StatusBadRequest, importView{Form: form})
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.Ctx(), importTime)
	defer cancel()
	// A check may have become invalid since the plan, such as a UUID that another project has taken.
	result, err := healthchecks.Import(ctx, q.Mon, q.Project.ID, list, &healthchecks.Options{SkipInvalid: true})
	switch {
	case errors.Is(err, checks.ErrCheckLimit):
		q.Notice(fmt.Sprintf("Stopped at the check limit of the account. Imported before: %s.", result))
	case ctx.Err() != nil && q.Ctx().Err() == nil:
		q.Notice(fmt.Sprintf("Stopped, because it took too long. Imported so far: %s. Import again for the rest.", result))
	case err != nil:
		return err
	default:
		q.Notice(fmt.Sprintf("Imported: %s.", result))
	}
	return q.Redirect("/projects/%s/", q.Project.ID)
}

// importProblem says in words why the source could not be read. It contains no key, and nothing about the network of the
// server.
func importProblem(err error, key string) string {
	refused, answered := errors.AsType[*client.Error](err)
	switch {
	case errors.Is(err, outbound.ErrPrivateAddress):
		return "The address is in a private network, which these pages do not reach. On the server, rollcall import healthchecks does."
	case errors.Is(err, context.DeadlineExceeded):
		return "The server did not answer in time."
	case isKey(err):
		return "The server refuses the key. It must be a read-write API key of that project."
	case answered:
		return fmt.Sprintf("The server answers with the status %d. Check the address.", refused.StatusCode)
	case errors.Is(err, client.ErrNotRollcall):
		return "The answer is not that of a Healthchecks server. Check the address."
	case isNetwork(err):
		return "The server cannot be reached. Check the address."
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "healthchecks: "), "client: ")
	return "It did not work: " + prose.Line(channels.Redact(text, key), 300) + "."
}

// isKey reports whether the source refuses the key.
func isKey(err error) bool {
	refused, answered := errors.AsType[*client.Error](err)
	return answered && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden)
}

func isNetwork(err error) bool {
	_, request := errors.AsType[*url.Error](err)
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return request || ok && timeout != nil
}
