package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// ErrNoCredentials is the error of Config.Authenticate for a request of somebody who is not signed in.
var ErrNoCredentials = errors.New("server: no credentials")

// askProgram takes the key of the request from Config.Authenticate. The error is [ErrNoCredentials] if there is none.
func (c *call) askProgram() error {
	if c.crossOrigin.Check(c.r) != nil {
		return errCrossOrigin
	}
	key, err := c.signIn(c.r)
	switch {
	case errors.Is(err, ErrNoCredentials):
		return ErrNoCredentials
	case errors.Is(err, monitor.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", errSignInAway, err)
	case err != nil: // whatever it wraps: a request must not get 404 or 403 because a session was not found
		return fmt.Errorf("%w: %w", errSignIn, err)
	case key.ProjectID == uuid.Nil:
		return fmt.Errorf("%w: the key has no project", errSignIn)
	}
	if _, err := c.mon.Project(c.r.Context(), key.ProjectID); errors.Is(err, checks.ErrNotFound) {
		return errWrongKey
	} else if err != nil {
		return err
	}
	if key.ID == uuid.Nil {
		key.ID = key.ProjectID // for the rate limit
	}
	c.key = key
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
