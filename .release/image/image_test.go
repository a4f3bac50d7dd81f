package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// testRelease returns a release with files that stand for the programs, in a directory of its own.
func testRelease(t *testing.T) (*release, []image) {
	t.Helper()
	r := &release{version: "v1.2.3", commit: "0123abcd", date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	dir := t.TempDir()
	for _, p := range []v1.Platform{
		{OS: "linux", Architecture: "amd64"},
		{OS: "linux", Architecture: "arm", Variant: "v7"},
		{OS: "linux", Architecture: "arm64", Variant: "v8"},
	} {
		dir := filepath.Join(dir, p.Architecture)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"LICENSE", "THIRD-PARTY.txt", "rollcall"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name+" for "+p.String()), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		r.binaries = append(r.binaries, binary{filepath.Join(dir, "rollcall"), p})
	}
	images, err := r.images()
	if err != nil {
		t.Fatal(err)
	}
	return r, images
}

func TestReproducible(t *testing.T) {
	write := func() map[string][]byte {
		dir := t.TempDir()
		r, images := testRelease(t)
		if err := r.writeTars(dir, images, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := r.writeLayout(filepath.Join(dir, "oci"), images, io.Discard); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files[path], err = os.ReadFile(filepath.Join(dir, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	first, second := write(), write()
	if len(first) < 3+2+3*3 {
		t.Errorf("only %d files", len(first))
	}
	for path := range first {
		if !bytes.Equal(first[path], second[path]) {
			t.Errorf("%s differs", path)
		}
	}
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
}

func TestFileSystem(t *testing.T) {
	_, images := testRelease(t)
	var got []string
	layer := mutate.Extract(images[0])
	defer layer.Close()
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{fs.FileMode(h.Mode).String()[1:], h.Name, h.ModTime.UTC().Format(time.DateOnly)}, " "))
		if owned := strings.HasPrefix(h.Name, "data"); (h.Uid == 65532) != owned || h.Uid != h.Gid {
			t.Errorf("%s belongs to %d:%d", h.Name, h.Uid, h.Gid)
		}
	}
	want := []string{
		"rw-r--r-- LICENSE 2026-01-02",
		"rw-r--r-- THIRD-PARTY.txt 2026-01-02",
		"rwxr-x--- data 2026-01-02",
		"rwxr-xr-x etc 2026-01-02",
		"rw-r--r-- etc/group 2026-01-02",
		"rw-r--r-- etc/passwd 2026-01-02",
		"rwxr-xr-x etc/ssl 2026-01-02",
		"rwxr-xr-x etc/ssl/certs 2026-01-02",
		"rw-r--r-- etc/ssl/certs/ca-certificates.crt 2026-01-02",
		"rwxr-xr-x rollcall 2026-01-02",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestCertificates(t *testing.T) {
	found := map[string]bool{}
	for rest := certificates(); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			t.Fatalf("not PEM: %.40q", rest)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		found[c.Subject.CommonName] = c.IsCA
	}
	// Services that alerts go to have certificates of these.
	for _, name := range []string{"ISRG Root X1", "DigiCert Global Root G2", "GTS Root R1", "Amazon Root CA 1"} {
		if !found[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestConfig(t *testing.T) {
	_, images := testRelease(t)
	raw, err := images[1].RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var c v1.ConfigFile
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}, *c.Platform()); diff != "" {
		t.Errorf("platform (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"CMD", "/rollcall", "probe"}, c.Config.Healthcheck.Test); diff != "" {
		t.Errorf("health check (-want +got):\n%s", diff)
	}
	if c.Config.User != "65532:65532" || c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("user %s, labels %v", c.Config.User, c.Config.Labels)
	}
	if want := "2026-01-02T03:04:05Z"; c.Created.Format(time.RFC3339) != want {
		t.Errorf("created %v, want %s", c.Created, want)
	}
}

// TestTars reads the files as docker load does.
func TestTars(t *testing.T) {
	r, images := testRelease(t)
	dir := t.TempDir()
	var out bytes.Buffer
	if err := r.writeTars(dir, images, &out); err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(out.String())
	for i, platform := range []string{"linux_amd64", "linux_armv7", "linux_arm64"} {
		if want := filepath.Join(dir, "rollcall_1.2.3_"+platform+"_image.tar"); paths[i] != want {
			t.Errorf("file %s, want %s", paths[i], want)
		}
		tag, err := name.NewTag("ghcr.io/rollcall-dev/rollcall:1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.ImageFromPath(paths[i], &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
		if got, want := configName(t, img), configName(t, images[i]); got != want {
			t.Errorf("%s: image %s, want %s", paths[i], got, want)
		}
	}
}

func configName(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	hash, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestPush: what comes back from a registry is what the layout has, and each platform finds its image.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	r, images := testRelease(t)
	host := strings.TrimPrefix(server.URL, "http://")
	var refs []name.Reference
	for _, tag := range []string{"1.2.3", "latest"} {
		ref, err := name.ParseReference(host + "/rollcall:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	var pushed bytes.Buffer
	if err := r.push(refs, images, &pushed); err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(refs[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := refs[0].String() + "@" + digest.String() + "\n" + refs[1].String() + "@" + digest.String() + "\n"; pushed.String() != want {
		t.Errorf("printed %q, want %q", pushed.String(), want)
	}
	dir := filepath.Join(t.TempDir(), "oci")
	if err := r.writeLayout(dir, images, io.Discard); err != nil {
		t.Fatal(err)
	}
	local, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.ImageIndex(digest); err != nil {
		t.Errorf("the layout has another image: %v", err)
	}
	for i, b := range r.binaries {
		img, err := remote.Image(refs[0], remote.WithPlatform(b.platform))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := configName(t, img), configName(t, images[i]); got != want {
			t.Errorf("%s: image %s, want %s", b.platform, got, want)
		}
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.labels(), manifest.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
