package project

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// nextStep is how much later than the last step the form suggests a new one.
const nextStep = 15

// escalationView is the data of the page for the escalation policy.
type escalationView struct {
	// Steps are those of the form, and Saved whether they are the policy.
	Steps []stepForm
	Saved bool
	Form  ui.Form // the fields of the steps
	Any   bool    // the project has integrations
	Next  int     // the number of the step that the form can add, 0 for none
}

// stepForm is a step as people see and type it.
type stepForm struct {
	N        int    // from 1
	After    string // minutes
	Title    string // when, in words, if the step is saved
	Channels []ui.Choice
	Fresh    bool // just added
}

// escalationPage shows the escalation policy, and to owners as a form.
func escalationPage(q *ui.Request) error {
	project := q.Mon.Project(q.Project.ID)
	steps, err := project.Escalation(q.Ctx())
	if err != nil {
		return err
	}
	available, err := project.Channels(q.Ctx())
	if err != nil {
		return err
	}
	v := escalationView{Saved: true}
	for _, step := range steps {
		ticked := make(map[string]bool)
		for _, id := range step.Channels {
			ticked[id.String()] = true
		}
		v.Steps = append(v.Steps, stepForm{
			After: strconv.Itoa(int(step.After / time.Minute)), Title: checks.StepText(step.After), Channels: stepChoices(available, ticked),
		})
	}
	return v.show(q, http.StatusOK, available)
}

func (v escalationView) show(q *ui.Request, status int, available []channels.Channel) error {
	v.Any = len(available) > 0
	if !v.Form.Refused() {
		v.number()
	}
	if n := len(v.Steps) + 1; n <= checks.MaxSteps {
		v.Next = n
	}
	return q.RenderStatus(status, "escalation", "Escalation policy", v)
}

// number numbers the steps and their fields.
func (v *escalationView) number() {
	v.Form = ui.Form{Title: "Not saved"}
	for i := range v.Steps {
		step := &v.Steps[i]
		step.N = i + 1
		n, attrs := strconv.Itoa(step.N), template.HTMLAttr(`inputmode="numeric" required maxlength="5" class="short"`)
		if step.Fresh {
			attrs += " autofocus"
		}
		after := ui.Field{Name: "after", ID: "after-" + n, Setting: "after-" + n, Described: "unit-" + n, Value: step.After, Attrs: attrs}
		v.Form.Fields = append(v.Form.Fields, after, ui.Field{Name: "channels-" + n})
	}
}

// Some reports whether the step has an integration, and Rest whether it lacks one.
func (s stepForm) Some() bool {
	return slices.ContainsFunc(s.Channels, func(c ui.Choice) bool { return c.Selected })
}
func (s stepForm) Rest() bool {
	return slices.ContainsFunc(s.Channels, func(c ui.Choice) bool { return !c.Selected })
}

func stepChoices(available []channels.Channel, ticked map[string]bool) (list []ui.Choice) {
	for _, c := range available {
		list = append(list, ui.Choice{Value: c.ID.String(), Label: ui.ChannelName(c), Hint: string(c.Kind), Selected: ticked[c.ID.String()]})
	}
	return list
}

// saveEscalation replaces the escalation policy, or only adds a step to the form or removes one: a browser without scripts cannot.
func saveEscalation(q *ui.Request) error {
	form, project := q.R.PostForm, q.Mon.Project(q.Project.ID)
	available, err := project.Channels(q.Ctx())
	if err != nil {
		return err
	}
	var v escalationView
	for i, after := range form["after"][:min(len(form["after"]), checks.MaxSteps)] {
		v.Steps = append(v.Steps, stepForm{After: strings.TrimSpace(after), Channels: stepChoices(available, ui.Ticked(form, "channel-"+strconv.Itoa(i+1)))})
	}
	if removed, err := strconv.Atoi(form.Get("remove")); err == nil && removed >= 1 && removed <= len(v.Steps) {
		v.Steps = slices.Delete(v.Steps, removed-1, removed)
		return v.show(q, http.StatusOK, available)
	}
	if form.Has("add") {
		v.addStep(available)
		return v.show(q, http.StatusOK, available)
	}
	v.number()
	if steps := v.policy(); !v.Form.Refused() {
		err = project.SetEscalation(q.Ctx(), steps)
		if refused, ok := errors.AsType[*checks.FieldError](err); ok {
			v.Form.Problem = "The policy " + refused.Reason + "."
		} else if err != nil {
			return err
		}
	}
	if v.Form.Refused() {
		return v.show(q, http.StatusBadRequest, available)
	}
	q.Notice("Saved.")
	return q.Redirect("/projects/%s/escalation", q.Project.ID)
}

// addStep adds a step to the form.
func (v *escalationView) addStep(available []channels.Channel) {
	if len(v.Steps) == checks.MaxSteps {
		return
	}
	step := stepForm{After: "0", Channels: stepChoices(available, nil), Fresh: true}
	if n := len(v.Steps); n > 0 {
		last, _ := minutes(v.Steps[n-1].After)
		step.After = strconv.Itoa(int(min(last+nextStep*time.Minute, checks.MaxStepAfter) / time.Minute))
	}
	v.Steps = append(v.Steps, step)
}

// policy returns the steps of the form, unless the form says what is wrong.
func (v *escalationView) policy() (steps []gate.Step) {
	in := make(map[string]int) // the step that has an integration
	for i, typed := range v.Steps {
		n := i + 1
		wrong := func(field, format string, args ...any) []gate.Step {
			v.Form.Wrong(fmt.Sprintf("%s-%d", field, n), fmt.Sprintf("Step %d ", n)+fmt.Sprintf(format, args...))
			return nil
		}
		step := gate.Step{}
		var ok bool
		if step.After, ok = minutes(typed.After); !ok {
			return wrong("after", "needs a time from 0 to %d minutes.", checks.MaxStepAfter/time.Minute)
		}
		if i > 0 && step.After <= steps[i-1].After {
			return wrong("after", "has to follow later than step %d.", i)
		}
		for _, choice := range typed.Channels {
			if !choice.Selected {
				continue
			}
			if before := in[choice.Value]; before != 0 {
				return wrong("channels", "has %s, which step %d has already.", choice.Label, before)
			}
			in[choice.Value] = n
			step.Channels = append(step.Channels, uuid.MustParse(choice.Value))
		}
		if len(step.Channels) == 0 {
			return wrong("channels", "has no integration: tick one, or remove the step.")
		}
		steps = append(steps, step)
	}
	return steps
}

// minutes reads the time of a step.
func minutes(text string) (time.Duration, bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(checks.MaxStepAfter/time.Minute) {
		return 0, false
	}
	return time.Duration(n) * time.Minute, true
}
