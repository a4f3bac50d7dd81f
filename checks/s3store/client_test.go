package s3store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/s3store"
	"github.com/rollcall-dev/rollcall/checks/s3store/internal/s3test"
)

// TestEscapedKeys uses keys with characters that URLs, signatures and XML escape.
func TestEscapedKeys(t *testing.T) {
	server := s3test.Start(t)
	s := newStore(t, configFor(server.URL))
	keys := []string{"a b", "a%20c", "a+b=c&d,e;f:g@h$i!j'(k)*", "deep/er/~key-_.", "\u00fc\u4e16", "what?#x"}
	for _, key := range keys {
		put(t, s, key, []byte(key))
		if got, err := s.Get(t.Context(), key, int64(len(key))); err != nil || string(got) != key {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(keys)), server.Keys(t)); diff != "" {
		t.Error(diff)
	}
	if err := s.Remove(t.Context(), keys); err != nil {
		t.Error(err)
	}
	if left := server.Keys(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// hosts returns a transport that connects to one server, whatever the host, and a function that lists its requests.
func hosts(t *testing.T, server *s3test.Server) (http.RoundTripper, func() []string) {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	}}
	var seen []string
	noted := roundTripper(func(r *http.Request) (*http.Response, error) {
		seen = append(seen, r.Method+" "+r.URL.String())
		return transport.RoundTrip(r)
	})
	return noted, func() []string { return seen }
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBucketByHost uses the endpoint of Amazon, where buckets have hosts.
func TestBucketByHost(t *testing.T) {
	server := s3test.Start(t)
	transport, seen := hosts(t, server)
	config := configFor("http://s3.amazonaws.com")
	config.Transport = transport
	s := newStore(t, config)
	put(t, s, "check/1", []byte("body"))
	if got, err := s.Get(t.Context(), "check/1", 4); err != nil || string(got) != "body" {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.Remove(t.Context(), []string{"check/1", "check/2"}); err != nil {
		t.Error(err)
	}
	if keys := server.Keys(t); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
	base := "http://" + s3test.Bucket + "." + s3test.VirtualDomain
	if diff := cmp.Diff([]string{"PUT " + base + "/check/1", "GET " + base + "/check/1", "POST " + base + "/?delete="}, seen()); diff != "" {
		t.Error(diff)
	}
}

// TestURLs checks where each service gets the name of the bucket, and that keys are escaped as S3 has it.
func TestURLs(t *testing.T) {
	for _, test := range []struct{ endpoint, bucket, region, want string }{
		{"https://s3.example.org", "jobs", "", "https://s3.example.org/jobs/a%20b%2Bc%3D/%C3%BC"},
		{"https://s3.example.org:9000/", "jobs", "", "https://s3.example.org:9000/jobs/a%20b%2Bc%3D/%C3%BC"},
		{"https://[2001:db8::1]:9000", "jobs", "", "https://[2001:db8::1]:9000/jobs/a%20b%2Bc%3D/%C3%BC"},
		{"https://s3.amazonaws.com", "jobs", "", "https://jobs.s3.dualstack.us-east-1.amazonaws.com/a%20b%2Bc%3D/%C3%BC"},
		{"https://S3.amazonaws.com", "jobs", "eu-north-1", "https://jobs.s3.dualstack.eu-north-1.amazonaws.com/a%20b%2Bc%3D/%C3%BC"},
		{"https://s3.eu-north-1.amazonaws.com", "jobs", "eu-north-1", "https://jobs.s3.eu-north-1.amazonaws.com/a%20b%2Bc%3D/%C3%BC"},
		{"https://s3.eu-north-1.amazonaws.com", "jobs.example", "eu-north-1", "https://s3.eu-north-1.amazonaws.com/jobs.example/a%20b%2Bc%3D/%C3%BC"},
		{"https://s3.cn-north-1.amazonaws.com.cn", "jobs", "cn-north-1", "https://jobs.s3.cn-north-1.amazonaws.com.cn/a%20b%2Bc%3D/%C3%BC"},
		{"https://storage.googleapis.com", "jobs", "auto", "https://jobs.storage.googleapis.com/a%20b%2Bc%3D/%C3%BC"},
		{"https://oss-cn-hangzhou.aliyuncs.com", "jobs", "", "https://jobs.oss-cn-hangzhou.aliyuncs.com/a%20b%2Bc%3D/%C3%BC"},
		{"https://amazonaws.com.example.org", "jobs", "", "https://amazonaws.com.example.org/jobs/a%20b%2Bc%3D/%C3%BC"},
		{"https://notamazonaws.com", "jobs", "", "https://notamazonaws.com/jobs/a%20b%2Bc%3D/%C3%BC"},
	} {
		var got []string
		s := newStore(t, s3store.Config{
			Endpoint: test.endpoint, Bucket: test.bucket, Region: test.region, AccessKey: "a", SecretKey: "s",
			Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				got = append(got, r.Method+" "+r.URL.String())
				return nil, errors.New("not sent")
			}),
		})
		if _, err := s.Get(t.Context(), "a b+c=/\u00fc", 1); err == nil {
			t.Errorf("%s: no error", test.endpoint)
		}
		if diff := cmp.Diff([]string{"GET " + test.want}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRemoveOneByOne uses the endpoint of Google, where each object takes a request.
func TestRemoveOneByOne(t *testing.T) {
	var got []string
	s := newStore(t, s3store.Config{
		Endpoint: "https://storage.googleapis.com", Bucket: "jobs", AccessKey: "a", SecretKey: "s",
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.Method+" "+r.URL.Path)
			answer := httptest.NewRecorder()
			switch r.URL.Path {
			case "/b":
				answer.WriteHeader(http.StatusNotFound)
				io.WriteString(answer, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>NoSuchKey</Code></Error>")
			case "/forbidden":
				answer.WriteHeader(http.StatusForbidden)
				io.WriteString(answer, "<Error><Code>AccessDenied</Code></Error>")
			default:
				answer.WriteHeader(http.StatusNoContent)
			}
			return answer.Result(), nil
		}),
	})
	if err := s.Remove(t.Context(), []string{"a", "b", "c"}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"DELETE /a", "DELETE /b", "DELETE /c"}, got); diff != "" {
		t.Error(diff)
	}
	if err := s.Remove(t.Context(), []string{"forbidden"}); !errors.Is(err, checks.ErrBodyUnavailable) || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("a refused removal: %v", err)
	}
}

// TestRemoveReports checks errors that come with status 200.
func TestRemoveReports(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   error
		says   string
	}{
		"all removed":        {`<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>`, nil, ""},
		"one missing":        {`<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>`, nil, ""},
		"one refused":        {`<DeleteResult><Deleted><Key>b</Key></Deleted><Error><Key>a</Key><Code>AccessDenied</Code></Error></DeleteResult>`, checks.ErrBodyUnavailable, "remove a: "},
		"an error in a 200":  {`<Error><Code>InternalError</Code></Error>`, checks.ErrBodyUnavailable, "InternalError"},
		"another document":   {`<html/>`, checks.ErrBodyUnavailable, "not from an S3 service"},
		"a broken document":  {`<DeleteResult><Error>`, checks.ErrBodyUnavailable, "not from an S3 service"},
		"an empty answer":    {``, checks.ErrBodyUnavailable, "not from an S3 service"},
		"one that is locked": {`<DeleteResult><Error><Key>a</Key><Code>ObjectLocked</Code></Error></DeleteResult>`, nil, "ObjectLocked"},
	} {
		s := newStore(t, s3store.Config{
			Endpoint: "https://s3.example.org", Bucket: "jobs", AccessKey: "a", SecretKey: "s",
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				answer := httptest.NewRecorder()
				io.WriteString(answer, test.answer)
				return answer.Result(), nil
			}),
		})
		err := s.Remove(t.Context(), []string{"a", "b"})
		switch {
		case test.want == nil && test.says == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says):
			t.Errorf("%s: %v, want %v with %q", name, err, test.want, test.says)
		}
	}
}

// TestEndlessAnswers: what a storage answers takes little memory and a short line of the log, however long or deep it is.
func TestEndlessAnswers(t *testing.T) {
	long := strings.Repeat("x", 4<<20)
	for name, answer := range map[string]string{
		"deep":                strings.Repeat("<a>", 4<<20/3),
		"deep in an error":    "<Error><Code>AccessDenied</Code>" + strings.Repeat("<a>", 4<<20/3),
		"deep in a result":    "<DeleteResult>" + strings.Repeat("<Error>", 4<<20/7),
		"many elements":       "<DeleteResult>" + strings.Repeat("<Error/>", 4<<20/8) + "</DeleteResult>",
		"many attributes":     "<Error " + strings.Repeat(`a="" `, 4<<20/5) + "/>",
		"long code":           "<Error><Code>" + long[:50_000] + "</Code></Error>",
		"long code of a key":  "<DeleteResult><Error><Key>" + long[:400_000] + "</Key><Code>" + long[:400_000] + "</Code></Error></DeleteResult>",
		"endless code":        "<Error><Code>" + long,
		"endless instruction": "<?" + long,
	} {
		for _, status := range []int{http.StatusOK, http.StatusForbidden} {
			s := newStore(t, s3store.Config{
				Endpoint: "https://s3.example.org", Bucket: "jobs", AccessKey: "a", SecretKey: "s",
				Transport: roundTripper(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: status, Status: "403 " + long, Body: io.NopCloser(strings.NewReader(answer))}, nil
				}),
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.Get(t.Context(), "a", 1)
			errs := []error{s.Put(t.Context(), "a", []byte("b")), err, s.Remove(t.Context(), []string{"a", "b"})}
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 50 {
				t.Errorf("%s with status %d: three requests took %d MB", name, status, n)
			}
			for _, err := range errs {
				if err == nil || len(err.Error()) > 2000 {
					t.Errorf("%s with status %d: %.200v", name, status, err)
				}
			}
		}
	}
}

// TestEndlessHeaders reads no more headers than an S3 service sends.
func TestEndlessHeaders(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", strings.Repeat("x", 1<<20))
	}))
	defer web.Close()
	s := newStore(t, configFor(web.URL))
	if err := s.Put(t.Context(), "a", []byte("b")); !errors.Is(err, checks.ErrBodyUnavailable) {
		t.Errorf("1 MB of headers: %v, want ErrBodyUnavailable", err)
	}
}
