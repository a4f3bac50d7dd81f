package declare

import (
	"context"
	"errors"
	"slices"

	"github.com/rollcall-dev/rollcall/checks"
)

// Diff compares checks that a program keeps with what exists in a project of a target, and changes nothing. It is for
// programs that make their checks from other data, without a file:
//
//	specs := []checks.Spec{{Slug: new("host-17"), Schedule: new("0 3 * * *")}}
//	plan, err := declare.Diff(ctx, declare.OnProject(c), specs, &declare.Options{Tag: "fleet", Prune: true})
//	fmt.Print(plan)
//	_, err = plan.Apply(ctx, declare.OnProject(c), nil)
//
// Slugs identify the checks. A nil setting of a spec stands for its default, but nil Channels leave the channels of a check
// as they are, and a new check gets all channels. Each check gets the tag of the options. With Prune, which needs a tag, the plan deletes the checks that have
// the tag and are not in specs; a check whose slug is empty or shared stays. Without specs it refuses to, because a program
// that has not read its data yet would delete everything. The project, its channels and its status pages
// stay as they are, but that [OnProjects] creates a project that does not exist.
//
// The error is [Errors], each of which names its check, if the specs cannot be applied, or else the target's error.
func Diff(ctx context.Context, target Target, specs []checks.Spec, options *Options) (Plan, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Prune && o.Tag == "" {
		return Plan{}, errors.New("declare: Diff with Prune needs a Tag, or it would delete all other checks of the project")
	}
	if o.Prune && len(specs) == 0 {
		return Plan{}, errors.New("declare: Diff with Prune needs specs, or it would delete every check with the tag")
	}
	o.specs = true
	project := Project{Checks: []Check{}}
	seen := make(map[string]bool, len(specs))
	var bad report
	for i, spec := range specs {
		switch {
		case spec.Slug == nil || *spec.Slug == "":
			bad.add(Position{}, "the check number %d has no slug", i+1)
		case seen[*spec.Slug]:
			bad.add(Position{}, "the slug %q is that of several checks", shorten(*spec.Slug))
		default:
			seen[*spec.Slug] = true
			project.Checks = append(project.Checks, Check{Spec: spec})
		}
	}
	if err := bad.err(); err != nil {
		return Plan{}, err
	}
	return NewPlan(ctx, target, Document{Projects: []Project{project}}, &o)
}

// tagged returns the spec with the tag of the options.
func (o *Options) tagged(spec checks.Spec) checks.Spec {
	if o.Tag != "" && !slices.Contains(spec.Tags, o.Tag) {
		spec.Tags = append(slices.Clone(spec.Tags), o.Tag)
	}
	return spec
}
