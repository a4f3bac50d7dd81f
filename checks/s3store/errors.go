package s3store

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// objectFaults are the error codes about a single object. All others are about the bucket, the keys, the service or the
// network.
var objectFaults = map[string]bool{
	"EntityTooLarge": true, "EntityTooSmall": true, "KeyTooLongError": true, "InvalidObjectState": true, "InvalidObjectName": true,
	"XMinioInvalidObjectName": true, "BadDigest": true, "ObjectLocked": true, "ObjectAlreadyExists": true,
}

// failure turns an error of the client into one of package monitor. It shows the code or status of an answer, but not
// its text, which may repeat the request.
func failure(ctx context.Context, verb, key string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", verb, key, ctx.Err())
	}
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return fmt.Errorf("%s %s: %w: %w", verb, key, monitor.ErrBodyUnavailable, withoutURL(err))
	}
	switch {
	case answer.Code == minio.NoSuchKey:
		return fmt.Errorf("%s %s: %w", verb, key, checks.ErrNotFound)
	case objectFaults[answer.Code]:
		return fmt.Errorf("%s %s: %s", verb, key, answer.Code)
	}
	return fmt.Errorf("%s %s: %w: %s", verb, key, monitor.ErrBodyUnavailable, answer.Code)
}

// withoutURL drops the URL from the error of an HTTP client.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

var errNotS3 = errors.New("the answer is not from an S3 service, check the endpoint")

// onlyS3 turns a 404 from a proxy or another web server into an error. The client would take it for a missing object.
type onlyS3 struct{ http.RoundTripper }

func (t onlyS3) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusNotFound {
		return resp, err
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "application/xml", "text/xml":
		return resp, nil
	}
	resp.Body.Close()
	return nil, errNotS3
}
