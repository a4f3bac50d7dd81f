package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// emptyIndex is an OCI index without images.
var emptyIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)

// image is the image for the platform of one binary.
type image struct {
	binary
	v1.Image
}

// config is how a container runs.
func config() v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user), // numbers, so that Kubernetes sees that it is not root
		WorkingDir:   "/data",                          // for the default of ROLLCALL_DATABASE, which would forbid ROLLCALL_DATABASE_FILE if it were set
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8000/tcp": {}},
		Entrypoint:   []string{"/rollcall"},
		Cmd:          []string{"serve"},
		StopSignal:   "SIGTERM",
		Env: []string{
			"PATH=/", // for docker exec NAME rollcall …
			"ROLLCALL_LISTEN=:8000",
		},
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/rollcall", "probe"},
			Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
	}
}

// labels describe the image, on the configuration of each platform and as annotations of the index.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "Rollcall",
		"org.opencontainers.image.description":   "A dead man's switch for scheduled jobs",
		"org.opencontainers.image.url":           "https://github.com/rollcall-dev/rollcall",
		"org.opencontainers.image.source":        "https://github.com/rollcall-dev/rollcall",
		"org.opencontainers.image.documentation": "https://github.com/rollcall-dev/rollcall/blob/main/server/README.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       r.tag(),
		"org.opencontainers.image.revision":      r.commit,
		"org.opencontainers.image.created":       r.date.Format(time.RFC3339),
	}
}

// images returns an image for each binary.
func (r *release) images() ([]image, error) {
	var list []image
	for _, b := range r.binaries {
		files, err := rootFS(b.path)
		if err != nil {
			return nil, err
		}
		img, err := r.image(b.platform, files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.path, err)
		}
		list = append(list, image{b, img})
	}
	return list, nil
}

// image returns an image with Docker's media types: podman ignores the health check of an OCI configuration, and
// everything else takes both.
func (r *release) image(platform v1.Platform, files []file) (v1.Image, error) {
	content, err := archive(files, r.date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "rollcall " + r.version},
	})
	if err != nil {
		return nil, err
	}
	configFile, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	configFile = configFile.DeepCopy()
	configFile.OS, configFile.Architecture, configFile.Variant = platform.OS, platform.Architecture, platform.Variant
	configFile.Created = v1.Time{Time: r.date}
	configFile.Config = config()
	configFile.Config.Labels = r.labels()
	return mutate.ConfigFile(img, configFile)
}

// index returns all platforms as one image. It is an OCI index because Docker's list has no annotations.
func (r *release) index(images []image) (v1.ImageIndex, error) {
	index := emptyIndex
	for _, img := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img.Image, Descriptor: v1.Descriptor{Platform: &img.platform}})
	}
	return mutate.Annotations(index, maps.Clone(r.labels())).(v1.ImageIndex), nil
}

// writeTars writes a file for docker load for each platform.
func (r *release) writeTars(dir string, images []image, stdout io.Writer) error {
	tag, err := name.NewTag(repository + ":" + r.tag())
	if err != nil {
		return err
	}
	for _, img := range images {
		path := filepath.Join(dir, fmt.Sprintf("rollcall_%s_%s_image.tar", r.tag(), img.fileName()))
		if err := tarball.WriteToFile(path, tag, img.Image); err != nil {
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	return nil
}
