package s3store

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// Config says which bucket to use, and how. The zero value of an optional field means its default.
type Config struct {
	// Endpoint is the URL of the service, "https://" or "http://" with a host and an optional port. It has no path:
	// only Bucket names the bucket. Amazon's are https://s3.<region>.amazonaws.com, and with IPv6
	// https://s3.dualstack.<region>.amazonaws.com, which https://s3.amazonaws.com stands for. Required.
	Endpoint string
	// Bucket is the name of the bucket, which must exist. Required.
	Bucket string
	// Region is the region of the bucket. Default: "us-east-1", which services without regions accept too.
	Region string
	// AccessKey and SecretKey sign the requests. Required.
	AccessKey, SecretKey string

	// Timeout bounds each request. Default: 10 seconds.
	Timeout time.Duration
	// FailAfter is the number of failures in a row after which reads fail at once. Default: 5.
	FailAfter int
	// Cooldown is how long reads fail at once before one of them probes the service. Default: 10 seconds.
	Cooldown time.Duration
	// Transport sends the requests. Default: a new transport with the proxy of the environment and the certificate
	// authorities of the system.
	Transport http.RoundTripper
	// Now is the clock of Cooldown. Default: time.Now.
	Now func() time.Time
}

// String describes the bucket without the keys.
func (c Config) String() string { return fmt.Sprintf("s3store.Config(%s at %s)", c.Bucket, c.Endpoint) }

// GoString returns the text of String, for the verb %#v.
func (c Config) GoString() string { return c.String() }

// LogValue returns the text of String, for package slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

var (
	bucketName = regexp.MustCompile(`\A[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\z`)
	badLabels  = regexp.MustCompile(`\.\.|\.-|-\.|\A(\d+\.){3}\d+\z`)
)

// endpoint validates the configuration and returns the parsed endpoint. No error quotes a key.
func (c *Config) endpoint() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil || c.Endpoint == "":
		return nil, errors.New("s3store: the endpoint must be a URL, such as https://s3.example.org")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("s3store: the endpoint must begin with https:// or http://")
	case u.Hostname() == "":
		return nil, errors.New("s3store: the endpoint has no host")
	case u.User != nil:
		return nil, errors.New("s3store: the endpoint must not have a user name or password")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("s3store: the endpoint must not have a path or a query")
	}
	switch {
	case !bucketName.MatchString(c.Bucket) || badLabels.MatchString(c.Bucket):
		return nil, fmt.Errorf("s3store: the bucket %q: the name must have 3 to 63 characters of a-z, 0-9, hyphen and dot, and must not be an address", c.Bucket)
	case c.AccessKey == "":
		return nil, errors.New("s3store: the access key is missing")
	case c.SecretKey == "":
		return nil, errors.New("s3store: the secret key is missing")
	case c.Timeout < 0 || c.FailAfter < 0 || c.Cooldown < 0:
		return nil, errors.New("s3store: Timeout, FailAfter and Cooldown must not be negative")
	}
	return u, nil
}

func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}
