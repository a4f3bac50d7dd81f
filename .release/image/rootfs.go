package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the number of the user and of the group that own /data and run the program. Rollcall needs no other.
const user = 65532

// file is one entry of the file system. A name that ends in a slash is a directory.
type file struct {
	name    string
	mode    fs.FileMode
	owner   int
	content []byte
}

// rootFS returns the whole file system of the image: a binary, and the licenses beside it. It has no shell and no /tmp,
// because Rollcall writes to /data alone.
func rootFS(binary string) ([]file, error) {
	var read [3][]byte
	for i, path := range []string{"LICENSE", "THIRD-PARTY.txt", filepath.Base(binary)} {
		var err error
		if read[i], err = os.ReadFile(filepath.Join(filepath.Dir(binary), path)); err != nil {
			return nil, err
		}
	}
	return []file{
		{name: "LICENSE", mode: 0o644, content: read[0]},
		{name: "THIRD-PARTY.txt", mode: 0o644, content: read[1]},
		{name: "data/", mode: 0o750, owner: user},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nrollcall:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte(
			"root:x:0:0:root:/:/sbin/nologin\nrollcall:x:65532:65532:Rollcall:/data:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates()},
		{name: "rollcall", mode: 0o755, content: read[2]},
	}, nil
}

// certificates returns Mozilla's root certificates in PEM, as the Go project publishes them: go.sum pins their version.
// A root that Mozilla trusts only for certificates up to a date is among them, because PEM cannot say so.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // never fails on a buffer
	}
	return out.Bytes()
}

// archive returns files as a tar archive. All of them have one modification time.
func archive(files []file, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Uid: f.owner, Gid: f.owner,
			Size: int64(len(f.content)), ModTime: modified, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
