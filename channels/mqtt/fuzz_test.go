package mqtt

import (
	"bytes"
	"io"
	"testing"
)

// FuzzAnswer publishes to a broker that sends any bytes.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		"\x20\x03\x00\x00\x00\x40\x02\x00\x01", "\x20\x05\x00\x00\x02\x24\x00", "\x20\x03\x00\x00\x00\x40\x08\x00\x01\x97\x04\x1f\x00\x01x",
		"\x20\x03\x00\x00\x00\xe0\x02\x8b\x00", "\x20\xff\xff\xff\x7f\x00",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(_ *testing.T, answer []byte) {
		conn := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(answer), io.Discard}
		_ = publish(conn, map[string]string{"retain": "yes"}, "t", nil)
	})
}
