package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestDescribe describes this program, which is built twice from what the module cache has.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "sbom")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	var boms, notices [2][]byte
	for i := range boms {
		paths := []string{filepath.Join(dir, "bom"), filepath.Join(dir, "notices")}
		if err := run(binary, paths[0], paths[1], "."); err != nil {
			t.Fatal(err)
		}
		for j, to := range []*[]byte{&boms[i], &notices[i]} {
			var err error
			if *to, err = os.ReadFile(paths[j]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !bytes.Equal(boms[0], boms[1]) || !bytes.Equal(notices[0], notices[1]) {
		t.Error("the same binary has two descriptions")
	}

	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(boms[0]), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	licenses := map[string]string{}
	for _, component := range *bom.Components {
		if component.Licenses == nil {
			t.Errorf("%s has no license", component.Name)
			continue
		}
		licenses[component.Name] = (*component.Licenses)[0].License.ID
		if !strings.HasPrefix(component.PackageURL, "pkg:golang/"+component.Name+"@") {
			t.Errorf("%s has the package URL %q", component.Name, component.PackageURL)
		}
		if (component.Hashes == nil) != (component.Name == "std") {
			t.Errorf("%s has the hashes %v", component.Name, component.Hashes)
		}
	}
	for name, want := range map[string]string{
		"std": "BSD-3-Clause", "github.com/CycloneDX/cyclonedx-go": "Apache-2.0", "github.com/google/licensecheck": "BSD-3-Clause",
	} {
		if licenses[name] != want {
			t.Errorf("license of %s is %q, not %q", name, licenses[name], want)
		}
	}
	for _, text := range []string{"The standard library of Go 1.", "github.com/google/licensecheck v", "Apache License"} {
		if !strings.Contains(string(notices[0]), text) {
			t.Errorf("the licenses lack %q", text)
		}
	}
}

// TestFont: the font of the pages has its license in both descriptions of a binary of Rollcall.
func TestFont(t *testing.T) {
	font, err := inter("../..")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(notices([]module{font})); !strings.Contains(text, "Inter (font): inter-license.txt") || !strings.Contains(text, "SIL OPEN FONT LICENSE") {
		t.Errorf("the licenses lack that of the font:\n%s", text)
	}
	component := font.component()
	if component.Licenses == nil || (*component.Licenses)[0].License.ID != "OFL-1.1" {
		t.Errorf("the bill of materials has the font as %+v", component)
	}
}

func TestNoLicense(t *testing.T) {
	if _, err := licenseFiles(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no license file") {
		t.Errorf("a module without a license: %v", err)
	}
}
