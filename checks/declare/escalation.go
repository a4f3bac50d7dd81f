package declare

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Step is a step of the escalation policy of a project. Its Channels are names, or identifiers.
type Step struct {
	checks.NamedStep

	places places
}

// escalation reads the escalation policy of a project.
func (p *parser) escalation(n *yaml.Node, project *Project) {
	project.Escalation = each(p, n, "escalation", func(item *yaml.Node) (step Step) {
		step.places = p.object(item, "a step", []key{
			{"after", func(n *yaml.Node) { step.After, _ = p.period(n, "after").(time.Duration) }},
			{"channels", func(n *yaml.Node) {
				if names := p.words(n, "channels", ","); names != nil {
					for name := range strings.SplitSeq(*names, ",") {
						step.Channels = append(step.Channels, strings.TrimSpace(name))
					}
				}
			}},
		})
		p.require(step.places, "a step", "channels")
		return step
	})
}

// exportEscalation takes the escalation policy from the state of a project. Without one, the file leaves it alone.
func (p *Project) exportEscalation(state State) {
	for _, step := range state.Escalation {
		names := references(state.Channels, step.Channels)
		p.Escalation = append(p.Escalation, Step{NamedStep: checks.NamedStep{After: step.After, Channels: names}})
	}
}

func (s Step) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "after", text(checks.ValueText(s.After)))
	add(n, "channels", text(strings.Join(s.Channels, ",")))
	return n
}

// escalation plans the escalation policy of the project.
func (p *projectPlanner) escalation() {
	if p.want.Escalation == nil {
		return
	}
	if p.have.SettingsHidden {
		p.note("only admin keys may change the escalation policy of the project %q, so the plan neither compares nor changes it", p.want.Name)
		return
	}
	at := p.want.places.of("escalation")
	named := make([]checks.NamedStep, len(p.want.Escalation))
	for i, step := range p.want.Escalation {
		named[i] = step.NamedStep
	}
	steps, err := checks.FindSteps(named, p.available)
	if err == nil {
		err = checks.ValidateSteps(steps, p.available)
	}
	if err != nil {
		p.add(at, "%v", err)
		return
	}
	all := slices.Concat(p.available, p.have.Channels)
	name := func(id uuid.UUID) string {
		i := slices.IndexFunc(all, func(c channels.Channel) bool { return c.ID == id })
		if i < 0 {
			return id.String()
		}
		return cmp.Or(all[i].Name, id.String())
	}
	for i := range steps {
		slices.SortFunc(steps[i].Channels, func(a, b uuid.UUID) int { return cmp.Compare(name(a), name(b)) })
	}
	have := slices.Clone(p.have.Escalation)
	for i := range have {
		have[i].Channels = slices.SortedFunc(slices.Values(have[i].Channels), func(a, b uuid.UUID) int { return cmp.Compare(name(a), name(b)) })
	}
	f := Field{Name: "steps", Old: quoted(checks.StepsText(have, name)), New: quoted(checks.StepsText(steps, name))}
	if f.Old == f.New {
		return
	}
	p.change(at, Change{
		Action: Update, Type: "escalation policy", Name: p.want.Name, Fields: []Field{f},
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			return setEscalation(ctx, a.admin(projectID), named)
		},
	})
}

// setEscalation sets a policy whose channels may be new.
func setEscalation(ctx context.Context, to checks.Administrator, named []checks.NamedStep) error {
	available, err := to.Channels(ctx)
	if err != nil {
		return err
	}
	steps, err := checks.FindSteps(named, available)
	if err != nil {
		return err
	}
	return to.SetEscalation(ctx, steps)
}
