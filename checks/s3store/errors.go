package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/rollcall-dev/rollcall/checks"
)

// objectFaults are the error codes about a single object. All others are about the bucket, the keys, the service or the
// network.
var objectFaults = map[string]bool{
	"EntityTooLarge": true, "EntityTooSmall": true, "KeyTooLongError": true, "InvalidObjectState": true, "InvalidObjectName": true,
	"XMinioInvalidObjectName": true, "BadDigest": true, "ObjectLocked": true, "ObjectAlreadyExists": true,
}

// failure turns an error of the client into one of package checks. It shows the code or status of an answer, but not
// its text, which may repeat the request.
func failure(ctx context.Context, verb, key string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", verb, key, ctx.Err())
	}
	answer, ok := errors.AsType[answerError](err)
	if !ok {
		return fmt.Errorf("%s %s: %w: %w", verb, key, checks.ErrBodyUnavailable, withoutURL(err))
	}
	switch {
	case answer == "NoSuchKey":
		return fmt.Errorf("%s %s: %w", verb, key, checks.ErrNotFound)
	case objectFaults[string(answer)]:
		return fmt.Errorf("%s %s: %s", verb, key, answer)
	}
	return fmt.Errorf("%s %s: %w: %s", verb, key, checks.ErrBodyUnavailable, answer)
}

// withoutURL drops the URL from the error of an HTTP client.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

var errNotS3 = errors.New("the answer is not from an S3 service, check the endpoint")
