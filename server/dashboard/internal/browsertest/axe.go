package browsertest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// axeVersion is the version of axe-core, which .ci/run installs too, and axeSum the SHA-256 of its axe.min.js.
const (
	axeVersion = "4.14.1"
	axeSum     = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
)

var errNoAxe = errors.New("there is no axe-core to test with")

// Axe fails the test for each rule of axe-core that the page violates, with the elements that do. Where axe-core is
// missing, it skips the test, or fails it with ROLLCALL_TEST_REQUIRE=all: call it last, or in a separate test.
func (p *Page) Axe() {
	p.t.Helper()
	script, err := axeScript()
	if err != nil {
		skip(p.t, err)
	}
	if !Eval[bool](p, "typeof axe == 'object'") {
		Eval[any](p, script+"\n;undefined")
	}
	for _, violation := range Eval[[]string](p, `axe.run(document, { resultTypes: ['violations'], preload: false }).then(found =>
		found.violations.map(v => v.id + ': ' + v.help + v.nodes.slice(0, 5).map(n => '\n\t' + n.html.slice(0, 200) +
			'\n\t' + n.failureSummary.replace(/\s+/g, ' ')).join('')))`) {
		p.t.Errorf("%s: %s", p.Path(), violation)
	}
}

// axeScript returns the source of axe-core.
func axeScript() (string, error) {
	path := os.Getenv("ROLLCALL_TEST_AXE")
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: %w", errNoAxe, err)
		}
		path = filepath.Join(cache, "rollcall-tools", "axe-core-"+axeVersion, "axe.min.js")
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w (run npm pack axe-core@%s and unpack package/axe.min.js there, "+
			"or name the file in ROLLCALL_TEST_AXE)", errNoAxe, err, axeVersion)
	}
	if sum := sha256.Sum256(source); hex.EncodeToString(sum[:]) != axeSum {
		return "", fmt.Errorf("%s is not axe.min.js of axe-core %s", path, axeVersion)
	}
	return string(source), nil
}
