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

// ErrSignedOut is the error of Config.Authorize for a request without a session.
var ErrSignedOut = errors.New("server: nobody is signed in")

// Access says what a person who is signed in may see and change. Config.Authorize returns it for each request. The zero value
// is nothing.
type Access struct {
	// Name is shown on pages as that of the viewer, such as an e-mail address. Requests of one name to a project count together
	// for Config.RateLimit. It may be empty.
	Name string
	// Projects are the projects that the person may see, in the order in which pages list them. Those without a right do not
	// count. The management interface serves the first one.
	Projects []ProjectAccess
}

// ProjectAccess says what a person may do in one project.
type ProjectAccess struct {
	ProjectID uuid.UUID
	// Right is the person's right in the project, on the pages and by the management interface. The zero value is none: the
	// project does not exist for them. With [checks.Read], they see no identifiers or addresses that take pings.
	Right checks.Right
}

// visible returns what Config.Authorize says without the projects in which the person has no right.
func visible(authorize func(*http.Request) (Access, error)) func(*http.Request) (Access, error) {
	if authorize == nil {
		return nil
	}
	return func(r *http.Request) (Access, error) {
		access, err := authorize(r)
		var projects []ProjectAccess
		for _, p := range access.Projects {
			if p.Right > checks.None && p.Right <= checks.Own {
				projects = append(projects, p)
			}
		}
		access.Projects = projects
		return access, err
	}
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
	c.right = first.Right
	c.key = checks.Key{ProjectID: first.ProjectID, ID: uuid.NewSHA1(first.ProjectID, []byte(access.Name))} // for the rate limit
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
