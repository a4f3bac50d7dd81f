// Command sbom describes what is in a binary of Rollcall, from the build information that Go puts into it: a software
// bill of materials (CycloneDX 1.6, JSON), and the licenses of all modules and of the font of the pages, which must come with a binary.
//
//	go run ./sbom -binary dist/rollcall -bom rollcall.cdx.json -notices THIRD-PARTY.txt
//
// It reads the sources of the modules from the module cache, so it runs where the binary was built. The same binary
// gives the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	binary := flag.String("binary", "", "the binary to describe")
	bom := flag.String("bom", "", "where to write the bill of materials")
	notices := flag.String("notices", "", "where to write the licenses")
	root := flag.String("root", ".", "the directory of the module that the binary was built from")
	flag.Parse()
	if err := run(*binary, *bom, *notices, *root); err != nil {
		log.Fatal(err)
	}
}

func run(binary, bomPath, noticesPath, root string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	modules, err := modulesOf(info, root)
	if err != nil {
		return err
	}
	if info.Main.Path == rollcall {
		font, err := inter(root)
		if err != nil {
			return err
		}
		modules = append(modules, font)
	}
	if noticesPath != "" {
		if err := os.WriteFile(noticesPath, notices(modules), 0o644); err != nil {
			return err
		}
	}
	if bomPath == "" {
		return nil
	}
	file, err := os.Create(bomPath)
	if err != nil {
		return err
	}
	defer file.Close()
	encoder := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	if err := encoder.EncodeVersion(describe(info, sha256.Sum256(content), modules), cdx.SpecVersion1_6); err != nil {
		return err
	}
	return file.Close()
}

// rollcall is the module whose binary also has the font of the pages.
const rollcall = "github.com/rollcall-dev/rollcall"

// inter is the font of the pages, a part of the packages that embed them.
func inter(root string) (module, error) {
	const both = "server/dashboard/internal/assets/both/"
	font, err := os.ReadFile(filepath.Join(root, both+"inter.woff2"))
	if err != nil {
		return module{}, err
	}
	license := licenseFile{name: "inter-license.txt"}
	license.text, err = os.ReadFile(filepath.Join(root, both+license.name))
	digest := sha256.Sum256(font)
	return module{path: "Inter", version: "(font)", files: []licenseFile{license}, digest: digest[:]}, err
}

// module is a module in the binary, or another part of it, with its license files.
type module struct {
	path, version string
	digest        []byte // of a part that is no module
	sum           string // as in go.sum; empty for the standard library and the main module
	files         []licenseFile
}

type licenseFile struct {
	name string
	text []byte
}

// modulesOf returns the modules in the binary with their licenses: first the standard library, then by path.
func modulesOf(info *debug.BuildInfo, root string) ([]module, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	std := module{path: "std", version: strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")}
	if std.files, err = licenseFiles(strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	modules := []module{std}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		dir, err := sources(root, dep.Path+"@"+dep.Version)
		if err != nil {
			return nil, err
		}
		m := module{path: dep.Path, version: dep.Version, sum: dep.Sum}
		if m.files, err = licenseFiles(dir); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	slices.SortFunc(modules[1:], func(a, b module) int { return strings.Compare(a.path, b.path) })
	return modules, nil
}

// sources returns the directory of a module in the module cache.
func sources(root, name string) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", name)
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w: %s", name, err, output)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(output, &downloaded); err != nil {
		return "", err
	}
	return downloaded.Dir, nil
}

// licenseName matches license files; cronexpr offers the Apache License as APLv2 and another one, which we do not take.
var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright|aplv2)([-._].*)?$`)

// licenseFiles reads the license files at the top of a module. A module without one cannot be distributed.
func licenseFiles(dir string) ([]licenseFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []licenseFile
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenseName.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, licenseFile{entry.Name(), text})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no license file", dir)
	}
	return files, nil
}

// notices returns the licenses of all modules as one text.
func notices(modules []module) []byte {
	var text bytes.Buffer
	text.WriteString("Rollcall contains the software below. Each part has its own license.\n")
	for _, m := range modules {
		name := m.path
		if name == "std" {
			name = "The standard library of Go"
		}
		for _, file := range m.files {
			fmt.Fprintf(&text, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), name, m.version, file.name,
				bytes.TrimSpace(bytes.ReplaceAll(file.text, []byte("\r\n"), []byte("\n"))))
		}
	}
	return text.Bytes()
}

// licenses returns the SPDX identifiers of a module's licenses, as far as its files are recognized.
func (m module) licenses() *cdx.Licenses {
	var ids []string
	for _, file := range m.files {
		for _, match := range licensecheck.Scan(file.text).Match {
			if !match.IsURL && !slices.Contains(ids, match.ID) {
				ids = append(ids, match.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	var licenses cdx.Licenses
	for _, id := range ids {
		choice := cdx.License{ID: id}
		if strings.HasPrefix(id, "GooglePatent") { // no SPDX identifier
			choice = cdx.License{Name: "Google patent grant"}
		}
		licenses = append(licenses, cdx.LicenseChoice{License: &choice})
	}
	return &licenses
}

func (m module) component() cdx.Component {
	if m.digest != nil {
		return cdx.Component{
			BOMRef: m.path, Type: cdx.ComponentTypeFile, Name: m.path, Scope: cdx.ScopeRequired, Licenses: m.licenses(),
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(m.digest)}},
		}
	}
	purl := "pkg:golang/" + m.path + "@" + m.version
	component := cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: purl,
		Scope: cdx.ScopeRequired, Licenses: m.licenses(),
	}
	// The sum of go.sum is the SHA-256 of the list of the module's files.
	if sum, ok := strings.CutPrefix(m.sum, "h1:"); ok {
		if digest, err := base64.StdEncoding.DecodeString(sum); err == nil {
			component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest)}}
		}
	}
	return component
}

func describe(info *debug.BuildInfo, digest [sha256.Size]byte, modules []module) *cdx.BOM {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	purl := "pkg:golang/" + info.Main.Path + "@" + info.Main.Version
	application := cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeApplication, Name: "rollcall", Version: info.Main.Version, PackageURL: purl,
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}
	var properties []cdx.Property
	for _, key := range []string{"GOOS", "GOARCH", "GOARM", "CGO_ENABLED", "vcs.revision"} {
		if value, ok := settings[key]; ok {
			properties = append(properties, cdx.Property{Name: "go:" + key, Value: value})
		}
	}
	application.Properties = &properties

	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: settings["vcs.time"], Component: &application}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		component := m.component()
		components = append(components, component)
		refs = append(refs, component.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: purl, Dependencies: &refs}}
	return bom
}
