// Package s3test gives tests a real S3 server: a process with a temporary directory, which a test can stop and start
// again, and a [Proxy] that delays the traffic between client and server.
//
//	server := s3test.Start(t)
//	store, err := s3store.New(s3store.Config{Endpoint: server.URL, Bucket: s3test.Bucket, AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey})
//
// The server is versitygw, from PATH or from the environment variable ROLLCALL_TEST_S3_SERVER. Where it is missing,
// tests are skipped; with ROLLCALL_TEST_REQUIRE=all they fail instead.
package s3test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Bucket and keys of every server.
const (
	Bucket    = "bodies"
	Region    = "us-east-1"
	AccessKey = "test-access-key"
	SecretKey = "test-secret-key"
)

// VirtualDomain is the domain of buckets that are named by their host: a request for "<bucket>.<VirtualDomain>" needs no
// bucket in its path. It is where Amazon has them.
const VirtualDomain = "s3.dualstack." + Region + ".amazonaws.com"

// patience bounds waits for the server. Only a failure reaches it.
const patience = 2 * time.Minute

var errNoServer = errors.New("there is no S3 server to test with (go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, " +
	"and have it in PATH or name it in ROLLCALL_TEST_S3_SERVER)")

// Server is a running S3 server with an empty bucket.
type Server struct {
	// URL is its address on the loopback interface.
	URL string

	addr    string
	dir     string
	program string
	cmd     *exec.Cmd
}

// Start runs a server until the test ends, or skips the test if the program is missing.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := find()
	if err != nil {
		if os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	s := &Server{program: program, dir: t.TempDir()}
	for _, sub := range []string{"objects/" + Bucket, "metadata"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if s.addr, err = freeAddress(); err != nil {
		t.Fatal(err)
	}
	s.URL = "http://" + s.addr
	s.Restart(t)
	t.Cleanup(s.Stop)
	return s
}

func find() (string, error) {
	if path := os.Getenv("ROLLCALL_TEST_S3_SERVER"); path != "" {
		return path, nil
	}
	path, err := exec.LookPath("versitygw")
	if err != nil {
		return "", errNoServer
	}
	return path, nil
}

// Restart starts a stopped server at the same address with the same objects.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	// Metadata goes into files, because not every file system has extended attributes.
	s.cmd = exec.Command(s.program, "--port", s.addr, "--quiet", "posix",
		"--sidecar", filepath.Join(s.dir, "metadata"), filepath.Join(s.dir, "objects"))
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey, "VGW_REGION="+Region,
		"VGW_VIRTUAL_DOMAIN="+VirtualDomain)
	s.cmd.SysProcAttr = childAttr()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the S3 server did not start: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the server as a crash would. Its objects stay.
func (s *Server) Stop() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// bucket is the directory of the bucket. The server keeps each object in a file.
func (s *Server) bucket() string { return filepath.Join(s.dir, "objects", Bucket) }

// Keys returns the keys of all objects, sorted.
func (s *Server) Keys(t testing.TB) []string {
	t.Helper()
	keys := []string{}
	err := fs.WalkDir(os.DirFS(s.bucket()), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			keys = append(keys, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// Object returns the content of an object.
func (s *Server) Object(t testing.TB, key string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.bucket(), key))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Remove removes an object behind Rollcall's back.
func (s *Server) Remove(t testing.TB, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.bucket(), key)); err != nil {
		t.Fatal(err)
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
