// Command image makes the container image of Rollcall from static binaries, without a daemon.
//
//	go run ./image --tar dist dist/linux_amd64/rollcall dist/linux_arm64/rollcall
//	go run ./image --push ghcr.io/rollcall-dev/rollcall:0.1.0 --push ghcr.io/rollcall-dev/rollcall:latest dist/linux_*/rollcall
//
// Platform, version, commit and time come from the build information of each binary; SOURCE_DATE_EPOCH replaces the time.
// The licenses, LICENSE and THIRD-PARTY.txt, lie beside each binary.
// The same binaries make the same bytes. Credentials for a registry come from the configuration of Docker, and those for
// ghcr.io also from GITHUB_TOKEN. The program prints what it has written, one file or digest a line.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/github"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// repository is the name of the image in the tar files.
const repository = "ghcr.io/rollcall-dev/rollcall"

func main() {
	if err := run(os.Args[1:], os.Stdout); errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("image [flags] BINARY...", flag.ContinueOnError)
	tars := flags.String("tar", "", "write a file for docker load for each platform into this `directory`")
	layoutDir := flags.String("layout", "", "write an OCI layout with all platforms to this `directory`")
	var refs []name.Reference
	flags.Func("push", "push all platforms as one image to this `reference`; may be repeated", func(text string) error {
		ref, err := name.ParseReference(text, name.StrictValidation)
		refs = append(refs, ref)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *tars == "" && *layoutDir == "" && len(refs) == 0 {
		return errors.New("name binaries, and at least one of --tar, --layout and --push")
	}
	release, err := readRelease(flags.Args(), os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	images, err := release.images()
	if err != nil {
		return err
	}
	if *tars != "" {
		if err := release.writeTars(*tars, images, stdout); err != nil {
			return err
		}
	}
	if *layoutDir != "" {
		if err := release.writeLayout(*layoutDir, images, stdout); err != nil {
			return err
		}
	}
	return release.push(refs, images, stdout)
}

// writeLayout writes an OCI layout that does not exist yet.
func (r *release) writeLayout(dir string, images []image, stdout io.Writer) error {
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists", dir)
	}
	index, err := r.index(images)
	if err != nil {
		return err
	}
	path, err := layout.Write(dir, emptyIndex)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.tag()})); err != nil {
		return err
	}
	digest, err := index.Digest()
	fmt.Fprintf(stdout, "%s@%s\n", dir, digest)
	return err
}

// push writes all platforms to registries.
func (r *release) push(refs []name.Reference, images []image, stdout io.Writer) error {
	index, err := r.index(images)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	keys := authn.NewMultiKeychain(authn.DefaultKeychain, github.Keychain)
	for _, ref := range refs {
		if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(keys)); err != nil {
			return fmt.Errorf("push %s: %w", ref, err)
		}
		fmt.Fprintf(stdout, "%s@%s\n", strings.TrimSuffix(ref.String(), "@"+digest.String()), digest)
	}
	return nil
}
