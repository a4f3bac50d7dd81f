package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/checks"
)

// Entry is a job of a scheduler, for [Sync].
type Entry struct {
	// Name makes the slug and the name of the check.
	Name string
	// Spec returns the other settings of the check, such as its schedule. Sync sets the name, the slug and the tag.
	Spec func() (checks.Spec, error)
	// Adjust, unless nil, changes the settings at the end. It may add tags and set the slug.
	Adjust func(*checks.Spec)
	// Use receives the reporter of the job. If the job has no check because of an error, that reports nothing; with an
	// [ErrPending], it keeps the pings until the check is registered.
	Use func(Reporter)
}

// SyncConfig configures [Sync]. The zero value of a field selects its default.
type SyncConfig struct {
	// PauseGone pauses the checks with the tag whose job is gone: see PauseExcept of [Registry]. Without entries Sync refuses
	// that, and pauses nothing. Default: such a check stays, and goes down when its next ping is overdue.
	PauseGone bool
}

// Sync makes the checks of a registry those of a scheduler's jobs. It registers each job and gives its check the tag, which
// marks the checks of one program: other programs of the project need other tags, and other names of their jobs. A nil config
// selects the defaults. The packages for schedulers are made of it.
//
// The error joins those of the entries, with their names: of the registry, of Spec, and for entries whose names have
// the same slug. The other entries are registered all the same. If there is an error, Sync pauses nothing. For an empty tag or
// one with a blank it is a *[checks.FieldError], and Sync registers nothing.
func Sync(ctx context.Context, registry Registry, tag string, entries []Entry, config *SyncConfig) error {
	err := checks.ValidateTag(tag)
	if registry == nil {
		err = errors.New("the registry is nil")
	}
	if err != nil {
		for _, e := range entries {
			e.Use((*Job)(nil))
		}
		return fmt.Errorf("job: sync: %w", err)
	}
	var problems []error
	var slugs []string
	names := make(map[string]string)
	for _, e := range entries {
		reporter := Reporter((*Job)(nil))
		spec, err := e.spec(tag)
		if other, ok := names[*spec.Slug]; ok {
			err = fmt.Errorf("would share the check %q with the job %q: rename one", *spec.Slug, other)
		} else if names[*spec.Slug] = e.Name; err == nil {
			slugs = append(slugs, *spec.Slug)
			reporter, err = registry.Register(ctx, spec)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("job %q: %w", e.Name, err))
		}
		e.Use(reporter)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if config == nil || !config.PauseGone {
		return nil
	}
	return registry.PauseExcept(ctx, tag, slugs)
}

func (e Entry) spec(tag string) (checks.Spec, error) {
	spec, err := e.Spec()
	spec.Name, spec.Slug, spec.Tags = new(cutName(e.Name)), new(checks.SlugOf(e.Name)), []string{tag}
	if e.Adjust != nil && err == nil {
		e.Adjust(&spec)
		spec.Slug = cmp.Or(spec.Slug, new(""))
		if !slices.Contains(spec.Tags, tag) {
			spec.Tags = append(spec.Tags, tag)
		}
	}
	return spec, err
}

// cutName cuts a text to the length of the name of a check.
func cutName(name string) string {
	n := 0
	for i := range name {
		if n == checks.MaxName {
			return name[:i]
		}
		n++
	}
	return name
}
