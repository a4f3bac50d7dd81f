package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// patience bounds how long a server may take to start or to stop. Only a broken one takes that long.
const patience = 2 * time.Minute

// unpack writes the files of an image with their owners.
func unpack(t *testing.T, img v1.Image, dir string) {
	t.Helper()
	layers := mutate.Extract(img)
	defer layers.Close()
	for r := tar.NewReader(layers); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, os.FileMode(h.Mode))
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, os.FileMode(h.Mode))
			}
		}
		if err == nil {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// command runs a program in the file system of an image, as a container does: with nothing else in sight.
func command(dir string, c v1.Config, listen string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(slices.Clone(c.Env), "ROLLCALL_LISTEN="+listen)
	cmd.Dir = c.WorkingDir
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: dir, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL,
	}
	return cmd
}

// TestRun starts the server twice in the file system of the image, with its configuration, both as docker load finds them in the file.
func TestRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change the root directory of a process")
	}
	stage, dir := t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(stage, "rollcall"), "./server/cmd/rollcall")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"LICENSE", "THIRD-PARTY.txt"} {
		if err := os.WriteFile(filepath.Join(stage, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{version: "v1.2.3", date: time.Now(),
		binaries: []binary{{filepath.Join(stage, "rollcall"), v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}}}
	images, err := r.images()
	if err != nil {
		t.Fatal(err)
	}
	var path bytes.Buffer
	if err := r.writeTars(stage, images, &path); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(strings.TrimSpace(path.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	configFile, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	unpack(t, img, dir)
	for range 2 { // the second server finds the data of the first
		serve(t, dir, configFile.Config)
	}
	info, err := os.Stat(filepath.Join(dir, "data", "rollcall.db"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != user || owner.Gid != user || info.Mode().Perm() != 0o600 {
		t.Errorf("the database belongs to %d:%d, mode %v", owner.Uid, owner.Gid, info.Mode())
	}
}

// serve runs the server until its health check succeeds, and stops it.
func serve(t *testing.T, dir string, c v1.Config) {
	t.Helper()
	listen := freeAddress(t)
	server := command(dir, c, listen, append(slices.Clone(c.Entrypoint), c.Cmd...)...)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Process.Kill()
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	for deadline := time.Now().Add(patience); ; {
		out, err := command(dir, c, listen, c.Healthcheck.Test[1:]...).CombinedOutput()
		if err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the server ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("not healthy: %v\n%s", err, out)
		}
	}
	if out, err := command(dir, c, listen, "/rollcall", "schedule", "0 3 * * *", "--tz", "Europe/Riga").CombinedOutput(); err != nil {
		t.Errorf("time zones: %v\n%s", err, out)
	}
	if c.StopSignal != "SIGTERM" {
		t.Errorf("stop signal %s", c.StopSignal)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the server does not stop")
	}
}

// freeAddress returns an address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
