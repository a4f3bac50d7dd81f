package spool_test

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/spool"
)

// TestFileSizeLimit limits the size of files, to less than the spool has and to less than it needs. Nothing is damaged: the
// spool takes no entries until there is room, and keeps those that it has.
func TestFileSizeLimit(t *testing.T) {
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	limit := func(bytes uint64) {
		t.Helper()
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}))
	}
	t.Cleanup(func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before)) })
	s := open(t, t.TempDir(), nil)
	want := 0
	for _, size := range []uint64{8 << 10, 1 << 20} {
		for range 10 {
			must(t, s.Append([][]byte{bytes.Repeat([]byte("x"), 3000)}))
			want++
		}
		limit(size)
		large := [][]byte{make([]byte, 2<<20)}
		for range 3 {
			if err := s.Append(large); err == nil || errors.Is(err, store.ErrSpoolDamaged) {
				t.Errorf("with a limit of %d bytes: %v", size, err)
			}
		}
		if err := s.Probe(true); size < 1<<20 && (err == nil || errors.Is(err, store.ErrSpoolDamaged)) {
			t.Errorf("a probe with a limit of %d bytes: %v", size, err)
		}
		if dir := t.TempDir(); size < 16<<10 {
			if _, err := spool.Open(dir, nil); err == nil || errors.Is(err, store.ErrSpoolDamaged) {
				t.Errorf("open with a limit of %d bytes: %v", size, err)
			}
		}
		limit(before.Cur)
		must(t, s.Probe(true))
		must(t, s.Append(large))
		want++
		if list, err := s.Oldest(100, 1<<30); err != nil || len(list) != want {
			t.Errorf("%d entries, want %d: %v", len(list), want, err)
		}
	}
}
