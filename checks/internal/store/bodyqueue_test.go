package store

import (
	"testing"

	"github.com/google/uuid"
)

// TestProves compares bodies with the digest in a key.
func TestProves(t *testing.T) {
	check := uuid.MustParse("8d0f5ee2-4d19-4f53-a1ac-f40ea05ac4cb")
	key := ObjectKey(check, 7, 42, []byte("hello\n"))
	if want := check.String() + "/7-42.WJG1tSLV3whtD_CxEPvZ0hu0_HFjrzTQgoai6Eb2vgM"; key != want {
		t.Errorf("the key is %s, want %s", key, want)
	}
	for body, want := range map[string]bool{"hello\n": true, "hello": false, "Hello\n": false, "": false} {
		if got := Proves(key, []byte(body)); got != want {
			t.Errorf("the key proves %q: %t, want %t", body, got, want)
		}
		if Proves(check.String()+"/7-42", []byte(body)) {
			t.Errorf("a key without a digest proves %q", body)
		}
	}
}
