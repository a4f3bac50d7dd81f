// Package healthchecks reads the checks of a Healthchecks server (https://healthchecks.io), so that they can be taken
// over with their UUIDs: then ping URLs change no more than their host.
//
//	source, err := healthchecks.New("https://healthchecks.io", key, nil)
//	list, err := source.Checks(ctx)
//	for _, c := range list {
//		_, err := mon.Create(ctx, projectID, c.Spec)
//	}
//
// Integrations cannot be taken over: the interface of Healthchecks does not tell their settings.
package healthchecks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultTries is how often a request is sent, where [Config] does not say.
const DefaultTries = 5

const (
	// maxDocument bounds what is read of an answer, in bytes.
	maxDocument = 64 << 20
	// tryTimeout bounds one try, with reading the answer.
	tryTimeout = 30 * time.Second
	// firstPause is the pause before the second try; each further one is twice as long.
	firstPause = 500 * time.Millisecond
	// longestPause bounds the pauses, also those that a server asks for with Retry-After.
	longestPause = time.Minute
)

// Config changes how a Source makes requests. The zero value of a field stands for its default.
type Config struct {
	// HTTPClient makes the requests. Default: http.DefaultClient, with 30 seconds for each try.
	HTTPClient *http.Client
	// Tries is how often a request may be sent, 1 or more. Default: [DefaultTries].
	Tries int
	// Wait waits before a request is sent again. Default: it waits that long, or until ctx ends.
	Wait func(ctx context.Context, pause time.Duration)
}

// Source is a project on a Healthchecks server.
type Source struct {
	base   string // without a slash at the end
	key    string
	config Config
}

// New returns the project to which an API key belongs, on the server with a base URL such as https://healthchecks.io.
// It makes no request. The error says what is wrong with an argument, and never contains the key.
func New(baseURL, key string, config *Config) (*Source, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("healthchecks: the base URL is not an http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("healthchecks: the base URL has a user, a query or a fragment")
	case key == "":
		return nil, errors.New("healthchecks: the API key is empty")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("healthchecks: the API key has characters that no key has")
	}
	s := &Source{base: strings.TrimRight(u.String(), "/"), key: key}
	if config != nil {
		s.config = *config
	}
	if s.config.HTTPClient == nil {
		s.config.HTTPClient = http.DefaultClient
	}
	if s.config.Tries < 1 {
		s.config.Tries = DefaultTries
	}
	if s.config.Wait == nil {
		s.config.Wait = wait
	}
	return s, nil
}

func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// StatusError is an answer that is no success.
type StatusError struct {
	// StatusCode is the HTTP status.
	StatusCode int
	// Message is what the server says about it, or "".
	Message string

	retryAfter time.Duration
}

// Error returns the status and the message.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	if e.Message != "" {
		text += ": " + strconv.Quote(e.Message)
	}
	if e.StatusCode == http.StatusUnauthorized {
		text += "; is the API key right?"
	}
	return text
}

// get reads a list. Servers that are too old for a version of the interface answer 404; then an older one is asked.
func (s *Source) get(ctx context.Context, list string, into any) error {
	var err error
	for _, version := range []string{"v3", "v2", "v1"} {
		err = s.getVersion(ctx, "/api/"+version+"/"+list+"/", into)
		if status, ok := errors.AsType[*StatusError](err); !ok || status.StatusCode != http.StatusNotFound {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("healthchecks: %s: %w", list, err)
	}
	return nil
}

func (s *Source) getVersion(ctx context.Context, path string, into any) error {
	pause := firstPause
	for try := 1; ; try++ {
		data, err := s.try(ctx, path)
		if err == nil {
			if err = json.Unmarshal(data, into); err != nil {
				return fmt.Errorf("the answer is not what Healthchecks sends: %w", err)
			}
			return nil
		}
		status, answered := errors.AsType[*StatusError](err)
		if answered && status.StatusCode != http.StatusTooManyRequests && status.StatusCode < 500 {
			return err
		}
		if try >= s.config.Tries || ctx.Err() != nil {
			return fmt.Errorf("%w (after %d tries)", err, try)
		}
		next := pause
		if answered {
			next = max(next, status.retryAfter)
		}
		s.config.Wait(ctx, min(next, longestPause))
		pause *= 2
	}
}

// try sends a request once.
func (s *Source) try(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", s.key)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "rollcall-import")
	// The key must not go along to another host, so redirects are not followed, but told.
	direct := *s.config.HTTPClient
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := direct.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxDocument:
		return nil, &StatusError{StatusCode: res.StatusCode, Message: fmt.Sprintf("the answer is longer than %d bytes", maxDocument)}
	case res.StatusCode != http.StatusOK:
		return nil, statusError(res, data)
	}
	return data, nil
}

func statusError(res *http.Response, data []byte) error {
	e := &StatusError{StatusCode: res.StatusCode}
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); err == nil {
		e.retryAfter = time.Duration(seconds) * time.Second
	}
	if to, err := res.Location(); err == nil {
		e.Message = "redirects to " + to.Scheme + "://" + to.Host + "; give that address"
		return e
	}
	var document struct{ Error string }
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && json.Unmarshal(data, &document) == nil {
		e.Message = document.Error[:min(len(document.Error), 200)]
	}
	return e
}
