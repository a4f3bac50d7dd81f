package storetest

import (
	"os"
	"regexp"
	"testing"
)

// TestGuide holds the package comment to the contract: it explains each requirement, in the same order.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	must(t, err)
	var explained, tested []string
	for _, match := range regexp.MustCompile(`(?m)^//   - (\w+): `).FindAllSubmatch(text, -1) {
		explained = append(explained, string(match[1]))
	}
	for _, r := range contract() {
		tested = append(tested, r.name)
	}
	same(t, "requirements", explained, tested)
}
