package project

import (
	"errors"
	"fmt"
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
	Steps   []stepForm
	Saved   bool
	Problem ui.Problem
	Any     bool // the project has integrations
	Next    int  // the number of the step that the form can add, 0 for none
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
	for i := range v.Steps {
		v.Steps[i].N = i + 1
	}
	if n := len(v.Steps) + 1; n <= checks.MaxSteps {
		v.Next = n
	}
	return q.RenderStatus(status, "escalation", "Escalation policy", v)
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
	steps, problem := v.policy()
	if problem.Text == "" {
		err = project.SetEscalation(q.Ctx(), steps)
		if refused, ok := errors.AsType[*checks.FieldError](err); ok {
			problem.Text = "The policy " + refused.Reason + "."
		} else if err != nil {
			return err
		}
	}
	if v.Problem = problem; problem.Text != "" {
		v.Problem.Text = "Not saved: " + problem.Text
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

// policy returns the steps of the form, or the first thing that is wrong and the input that has it.
func (v *escalationView) policy() (steps []gate.Step, problem ui.Problem) {
	in := make(map[string]int) // the step that has an integration
	for i, typed := range v.Steps {
		n := i + 1
		wrong := func(field, format string, args ...any) ([]gate.Step, ui.Problem) {
			return nil, ui.Problem{Field: field + "-" + strconv.Itoa(n), Text: fmt.Sprintf("Step %d ", n) + fmt.Sprintf(format, args...)}
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
	return steps, ui.Problem{}
}

// minutes reads the time of a step.
func minutes(text string) (time.Duration, bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(checks.MaxStepAfter/time.Minute) {
		return 0, false
	}
	return time.Duration(n) * time.Minute, true
}
