package s3store

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Store keeps bodies in one bucket. It is safe for concurrent use.
type Store struct {
	client  *minio.Core
	bucket  string
	timeout time.Duration
	reads   breaker
}

var _ monitor.BodyStore = (*Store)(nil)

// New returns a store and sends nothing. [Store.Probe] checks that the bucket is usable.
func New(config Config) (*Store, error) {
	endpoint, err := config.endpoint()
	if err != nil {
		return nil, err
	}
	timeout := orDefault(config.Timeout, 10*time.Second)
	transport := config.Transport
	if transport == nil {
		transport = newTransport(timeout)
	}
	client, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:      credentials.NewStaticV4(config.AccessKey, config.SecretKey, ""),
		Secure:     endpoint.Scheme == "https",
		Region:     orDefault(config.Region, "us-east-1"),
		Transport:  onlyS3{transport},
		MaxRetries: 1, // one attempt, no retry
	})
	if err != nil {
		return nil, fmt.Errorf("s3store: %w", err)
	}
	s := &Store{client: client, bucket: config.Bucket, timeout: timeout}
	s.reads = breaker{failAfter: orDefault(config.FailAfter, 5), cooldown: orDefault(config.Cooldown, 10*time.Second), now: config.Now}
	if s.reads.now == nil {
		s.reads.now = time.Now
	}
	return s, nil
}

func newTransport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: timeout}).DialContext,
		TLSHandshakeTimeout:   timeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          32,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       time.Minute,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // bodies are binary
	}
}

// Put stores an object; see [monitor.BodyStore].
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	// Send both sums, because a service may check only one of them.
	sum, hash := md5.Sum(body), sha256.Sum256(body)
	info, err := s.client.PutObject(limited, s.bucket, key, bytes.NewReader(body), int64(len(body)),
		base64.StdEncoding.EncodeToString(sum[:]), hex.EncodeToString(hash[:]),
		minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}) // the SHA-256 is sent above, not again in chunks
	if err != nil {
		return failure(ctx, "put", key, err)
	}
	if info.ETag == "" { // not S3, but a server that answers everything with 200
		return failure(ctx, "put", key, errNotS3)
	}
	return nil
}

// Get returns an object of size bytes; see [monitor.BodyStore]. After several failures in a row it fails at once, with
// [monitor.ErrBodyUnavailable].
func (s *Store) Get(ctx context.Context, key string, size int64) ([]byte, error) {
	if !s.reads.allow() {
		return nil, fmt.Errorf("get %s: %w: the last %d reads failed", key, monitor.ErrBodyUnavailable, s.reads.failAfter)
	}
	result := abandoned // unless s.get returns
	defer func() { s.reads.report(result) }()
	body, err := s.get(ctx, key, size)
	switch {
	case errors.Is(err, monitor.ErrBodyUnavailable) || errors.Is(err, context.DeadlineExceeded):
		result = failed
	case !errors.Is(err, context.Canceled):
		result = answered // an error about this object alone is an answer too
	}
	return body, err
}

func (s *Store) get(ctx context.Context, key string, size int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r, info, _, err := s.client.GetObject(limited, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, failure(ctx, "get", key, err)
	}
	defer r.Close()
	if info.ETag == "" {
		return nil, failure(ctx, "get", key, errNotS3)
	}
	if info.Size != size {
		return nil, fmt.Errorf("get %s: the object has %d bytes instead of %d", key, info.Size, size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, failure(ctx, "get", key, err)
	}
	return body, nil
}

// Remove removes objects; see [monitor.BodyStore].
func (s *Store) Remove(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	objects := make(chan minio.ObjectInfo, len(keys))
	for _, key := range keys {
		objects <- minio.ObjectInfo{Key: key}
	}
	close(objects)
	var first error
	for e := range s.client.RemoveObjects(limited, s.bucket, objects, minio.RemoveObjectsOptions{}) {
		if err := failure(ctx, "remove", e.ObjectName, e.Err); first == nil && !errors.Is(err, checks.ErrNotFound) {
			first = err
		}
	}
	if err := limited.Err(); first == nil && err != nil { // the client does not report the end of its context
		first = failure(ctx, "remove", keys[0], err)
	}
	return first
}

// probeKey is the object of Probe. The key is fixed, so that crashed processes leave at most one object behind.
const probeKey = "rollcall-probe"

// Probe checks that the bucket is usable: it stores, reads and removes a small object named rollcall-probe. The error is
// [monitor.ErrBodyUnavailable] and gives the reason.
func (s *Store) Probe(ctx context.Context) error {
	want := []byte(probeKey)
	if err := s.Put(ctx, probeKey, want); err != nil {
		return probeFailed(err)
	}
	got, err := s.Get(ctx, probeKey, int64(len(want)))
	switch {
	case errors.Is(err, checks.ErrNotFound):
		err = nil // another process removed it
	case err == nil && !bytes.Equal(got, want):
		err = fmt.Errorf("get %s: the object differs from the stored one", probeKey)
	}
	if err := errors.Join(err, s.Remove(ctx, []string{probeKey})); err != nil {
		return probeFailed(err)
	}
	return nil
}

func probeFailed(err error) error {
	if errors.Is(err, monitor.ErrBodyUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", monitor.ErrBodyUnavailable, err)
}
