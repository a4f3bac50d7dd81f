package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// Store keeps bodies in one bucket. It is safe for concurrent use.
type Store struct {
	client  *client
	timeout time.Duration
	reads   breaker
}

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
	s := &Store{client: newClient(endpoint, &config, transport), timeout: timeout}
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
		// Answers of S3 have less than 8 kB of headers; the default is 10 MB.
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Put stores an object; see BodyStore of package monitor.
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	resp, err := s.client.do(limited, http.MethodPut, key, "", body)
	if err != nil {
		return failure(ctx, "put", key, err)
	}
	resp.Body.Close()
	if resp.Header.Get("ETag") == "" { // not S3, but a server that answers everything with 200
		return failure(ctx, "put", key, errNotS3)
	}
	return nil
}

// Get returns an object of size bytes; see BodyStore of package monitor. After several failures in a row it fails at once, with
// [checks.ErrBodyUnavailable].
func (s *Store) Get(ctx context.Context, key string, size int64) ([]byte, error) {
	if !s.reads.allow() {
		return nil, fmt.Errorf("get %s: %w: the last %d reads failed", key, checks.ErrBodyUnavailable, s.reads.failAfter)
	}
	result := abandoned // unless s.get returns
	defer func() { s.reads.report(result) }()
	body, err := s.get(ctx, key, size)
	switch {
	case errors.Is(err, checks.ErrBodyUnavailable) || errors.Is(err, context.DeadlineExceeded):
		result = failed
	case !errors.Is(err, context.Canceled):
		result = answered // an error about this object alone is an answer too
	}
	return body, err
}

func (s *Store) get(ctx context.Context, key string, size int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	resp, err := s.client.do(limited, http.MethodGet, key, "", nil)
	if err != nil {
		return nil, failure(ctx, "get", key, err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("ETag") == "" {
		return nil, failure(ctx, "get", key, errNotS3)
	}
	if resp.ContentLength != size {
		return nil, fmt.Errorf("get %s: %w: %d bytes instead of %d", key, checks.ErrBodyCorrupt, resp.ContentLength, size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(resp.Body, body); err != nil {
		return nil, failure(ctx, "get", key, err)
	}
	return body, nil
}

// Remove removes objects; see BodyStore of package monitor.
func (s *Store) Remove(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if !s.client.bulkDelete {
		for _, key := range keys {
			if err := s.removeOne(ctx, key); err != nil {
				return err
			}
		}
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	faults, err := s.client.removeMany(limited, keys)
	if err != nil {
		return failure(ctx, "remove", keys[0], err)
	}
	for _, fault := range faults {
		key := fault.Key[:min(len(fault.Key), maxKey)]
		if err := failure(ctx, "remove", key, answerError(fault.Code)); !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (s *Store) removeOne(ctx context.Context, key string) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	resp, err := s.client.do(limited, http.MethodDelete, key, "", nil)
	if err == nil {
		resp.Body.Close()
		return nil
	}
	if err = failure(ctx, "remove", key, err); errors.Is(err, checks.ErrNotFound) {
		return nil
	}
	return err
}

// probeKey is the object of Probe. The key is fixed, so that crashed processes leave at most one object behind.
const probeKey = "rollcall-probe"

// Probe checks that the bucket is usable: it stores, reads and removes a small object named rollcall-probe. The error is
// [checks.ErrBodyUnavailable] and gives the reason.
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
	if errors.Is(err, checks.ErrBodyUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", checks.ErrBodyUnavailable, err)
}
