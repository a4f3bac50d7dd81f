package job

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Registry keeps the checks of a scheduler's jobs in one project. A *client.Client is the Registry of its key's project,
// and a *monitor.Project that of a project in the same process. A Registry is safe for concurrent use.
type Registry interface {
	// Register creates or updates the check with the slug of spec and returns the reporter of its job. Call it at every
	// start of a program and whenever a job changes.
	//
	// An existing check keeps what spec leaves nil. A new check gets the settings of [Defaults]. A paused check stays paused until the next run of its job, or with ManualResume until it is
	// resumed.
	//
	// If the server or the database is unavailable, the error is an [ErrPending], and the reporter works all the same: it
	// keeps the pings, registers the check as soon as that works, and sends them then. Log the error and go on. With any
	// other error, the reporter reports nothing, and its Run only calls the job. It is a *[checks.FieldError] for an
	// invalid setting, such as a missing slug.
	Register(ctx context.Context, spec checks.Spec) (Reporter, error)

	// PauseExcept pauses the checks with the tag whose slug is not in slugs, such as those of jobs that a scheduler no
	// longer has. It leaves alone checks without a slug.
	//
	// Give each program and each of its schedulers its own tag, and put it into the spec.Tags of its checks: PauseExcept
	// takes the check of any other program with the tag for one whose job is gone. The error is a *[checks.FieldError] for
	// an empty tag, a tag with a blank, and no slugs. A program that has not read its jobs yet thus pauses nothing.
	PauseExcept(ctx context.Context, tag string, slugs []string) error
}

// ValidatePause checks the arguments of PauseExcept, for a [Registry] of your own. The error is a *[checks.FieldError].
func ValidatePause(tag string, slugs []string) error {
	if len(slugs) == 0 {
		return &checks.FieldError{Field: "slugs", Reason: "is empty: that would pause every check with the tag"}
	}
	return checks.ValidateTag(tag)
}

// The settings of a new check whose job runs more often than once an hour.
const (
	shortGrace = 5 * time.Minute
	longRun    = time.Hour
)

// Defaults returns the settings of a new check for a job: those of spec, all channels, and a grace that fits. A job that
// runs more often than once an hour gets as much grace as there is time between two runs, and at least 5 minutes. If its
// program dies, the check of a job that runs every few seconds is down 6 minutes later, the period of a check being at
// least a minute; a program that restarts within 5 minutes alerts nobody. A run may still take an hour. If a job can take
// longer than the grace, so that there is no success for that long, set a longer one. Defaults changes nothing that spec
// sets. The instant is the current one.
func Defaults(spec checks.Spec, now time.Time) checks.Spec {
	if spec.Channels == nil {
		spec.Channels = new("*")
	}
	c, err := checks.New(uuid.Nil, spec, now)
	if err != nil || spec.Grace != nil { // Upsert refuses what is not valid
		return spec
	}
	due := c.ExpectedAfter(now)
	next := c.ExpectedAfter(due)
	if period := next.Sub(due); !next.IsZero() && period < time.Hour {
		spec.Grace = new(max(period, shortGrace))
		if spec.MaxRuntime == nil {
			spec.MaxRuntime = new(longRun)
		}
	}
	return spec
}
