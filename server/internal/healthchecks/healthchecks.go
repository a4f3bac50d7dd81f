// Package healthchecks reads the checks of a Healthchecks server (https://healthchecks.io) and imports them with their
// UUIDs, so that only the host of a ping URL changes:
//
//	source, err := healthchecks.New("https://healthchecks.io", key, nil)
//	list, err := source.Checks(ctx)
//	result, err := healthchecks.Import(ctx, mon, projectID, list, nil)
//	fmt.Println(result) // 10 created, 2 updated, 1 unchanged, 0 refused
//
// If [Source.Checks] cannot read some entries, it returns the others together with a [Malformed] error. To import the
// others alone, pass the error on:
//
//	malformed, ok := errors.AsType[healthchecks.Malformed](err)
//	...
//	options := &healthchecks.Options{SkipInvalid: true, Malformed: malformed}
//	result, err := healthchecks.Import(ctx, mon, projectID, list, options)
//
// Create channels by hand: the API of Healthchecks does not reveal their settings.
package healthchecks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/client"
)

// Source is a project on a Healthchecks server.
type Source struct{ client *client.Client }

// New returns the project of an API key on the server at baseURL, such as "https://healthchecks.io". The key must be a
// read-write one. New makes no request. Its error says which argument is wrong and never contains the key. The config
// is that of the [client.Client] that makes the requests.
func New(baseURL, key string, config *client.Config) (*Source, error) {
	c, err := client.New(baseURL, key, config)
	if err != nil {
		return nil, fmt.Errorf("healthchecks: %w", err)
	}
	return &Source{c}, nil
}

// maxEntries bounds a list of the source.
const maxEntries = 100_000

// list returns the entries of one of the project's lists. It tries older versions of the API if the server answers 404
// to the newest one.
func (s *Source) list(ctx context.Context, name string) ([]json.RawMessage, error) {
	var document map[string]json.RawMessage
	var err error
	for _, version := range []string{"v3", "v2", "v1"} {
		err = s.client.Fetch(ctx, "/api/"+version+"/"+name+"/", &document)
		if !hasStatus(err, http.StatusNotFound) {
			break
		}
	}
	switch {
	case hasStatus(err, http.StatusUnauthorized):
		err = fmt.Errorf("%w: check the API key", err)
	case hasStatus(err, http.StatusTooManyRequests):
		err = fmt.Errorf("%w: the server limits requests, try again later", err)
	case errors.Is(err, client.ErrNotRollcall):
		err = foreignError{err}
	}
	if err != nil {
		return nil, fmt.Errorf("healthchecks: %w", err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(document[name], &entries); err != nil || entries == nil {
		return nil, fmt.Errorf("healthchecks: the response has no list of %s", name)
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("healthchecks: the source has %d %s, the maximum is %d", len(entries), name, maxEntries)
	}
	return entries, nil
}

// foreignError is [client.ErrNotRollcall], in words about the source.
type foreignError struct{ error }

func (e foreignError) Unwrap() error { return e.error }

func (e foreignError) Error() string {
	return strings.ReplaceAll(e.error.Error(), client.ErrNotRollcall.Error(),
		"the answer is not that of the API of a Healthchecks server, check the URL")
}

func hasStatus(err error, status int) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.StatusCode == status
}

// decode decodes an entry. The caller names the entry in its error.
func decode(entry json.RawMessage, into any) error {
	err := json.Unmarshal(entry, into)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return fmt.Errorf("it is not a JSON object: %s", e.Value)
		}
		return fmt.Errorf("%s has the wrong type: %s", e.Field, e.Value)
	}
	return err
}
