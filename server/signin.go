package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// ErrSignedOut is the error of Config.Authorize for a request of somebody who is not signed in.
var ErrSignedOut = errors.New("server: nobody is signed in")

// Access says what a person who is signed in may see and change. Config.Authorize returns it for each request.
type Access struct {
	// Name is shown on pages as that of the viewer, such as an e-mail address. Requests of one name to a project count together
	// for Config.RateLimit. It may be empty.
	Name string
	// Projects are the projects that the person may see, in the order in which pages list them. The management interface
	// serves the first one.
	Projects []ProjectAccess
}

// ProjectAccess says what a person may do in one project.
type ProjectAccess struct {
	ProjectID uuid.UUID
	// Edit allows changes. Without it, the person only looks, and sees no identifiers or addresses that take pings.
	Edit bool
	// Editor withholds from somebody with Edit what is an owner's: the keys of the project and its deletion.
	Editor bool
}

// askProgram asks Config.Authorize who sends the request. The error is [ErrSignedOut] if nobody is signed in.
func (c *call) askProgram() error {
	if c.crossOrigin.Check(c.r) != nil {
		return errCrossOrigin
	}
	access, err := c.authorize(c.r)
	switch {
	case errors.Is(err, ErrSignedOut):
		return ErrSignedOut
	case errors.Is(err, checks.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", errSignInAway, err)
	case err != nil: // whatever it wraps: a request must not get 404 or 403 because a session was not found
		return fmt.Errorf("%w: %w", errSignIn, err)
	case len(access.Projects) == 0:
		return errNoProject
	}
	first := access.Projects[0]
	if _, err := c.mon.Projects().ByID(c.r.Context(), first.ProjectID); errors.Is(err, checks.ErrNotFound) {
		return errNoProject
	} else if err != nil {
		return err
	}
	c.signed, c.name = true, access.Name
	c.key = checks.Key{ProjectID: first.ProjectID, Scope: checks.ReadOnly}
	if first.Edit {
		c.key.Scope = checks.ReadWrite
	}
	c.key.ID = uuid.NewSHA1(first.ProjectID, []byte(access.Name)) // for the rate limit
	return nil
}

// bringsKey reports whether a request has an API key in its header, or asks whether it may: nothing that a browser sends
// by itself then decides about the answer.
func bringsKey(r *http.Request) bool {
	if r.Method != http.MethodOptions {
		_, present := r.Header["X-Api-Key"]
		return present
	}
	for name := range strings.SplitSeq(strings.Join(r.Header.Values("Access-Control-Request-Headers"), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(name), "X-Api-Key") {
			return true
		}
	}
	return false
}
