package spool_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/spool"
)

// queue is a spool as the monitor uses it.
type queue struct {
	store.Spool
	io.Closer
}

// openQueue opens a spool, which a test may find damaged.
func openQueue(dir string, config *spool.Config) (*queue, error) {
	s, err := spool.Open(dir, config)
	if err != nil {
		return nil, err
	}
	return &queue{s.Contract().(store.Spool), s}, nil
}

func open(t *testing.T, dir string, config *spool.Config) *queue {
	t.Helper()
	s, err := openQueue(dir, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// texts returns the oldest entries and the key of the last.
func texts(t *testing.T, s *queue, limit, maxBytes int) (list []string, last uint64) {
	t.Helper()
	entries, err := s.Oldest(limit, maxBytes)
	must(t, err)
	for _, e := range entries {
		list = append(list, string(e.Data))
		last = e.Key
	}
	return list, last
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestQueue appends and removes entries, with the file opened again in between.
func TestQueue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "spool")
	s := open(t, dir, nil)
	id := s.ID()
	must(t, s.Append([][]byte{[]byte("one"), []byte("two")}))
	must(t, s.Append(nil))
	must(t, s.Append([][]byte{[]byte("three"), {}}))
	list, _ := texts(t, s, 10, 1000)
	same(t, "all", list, []string{"one", "two", "three", ""})
	list, two := texts(t, s, 2, 1000)
	same(t, "limited", list, []string{"one", "two"})
	list, _ = texts(t, s, 10, 6)
	same(t, "limited bytes", list, []string{"one", "two"})
	list, _ = texts(t, s, 10, 1)
	same(t, "at least one", list, []string{"one"})
	must(t, s.Close())

	s = open(t, dir, nil)
	if s.ID() != id {
		t.Error("the identifier has changed")
	}
	must(t, s.Remove(two))
	entries, size := s.Size()
	same(t, "size", []int64{int64(entries), size}, []int64{2, 5 + 2*64})
	must(t, s.Append([][]byte{[]byte("four")}))
	list, last := texts(t, s, 10, 1000)
	same(t, "after removal", list, []string{"three", "", "four"})
	must(t, s.Remove(last))
	must(t, s.Append([][]byte{[]byte("five")}))
	if _, key := texts(t, s, 1, 1); key <= last {
		t.Errorf("key %d was used before %d", key, last)
	}
}

// TestFull fills a spool. What does not fit is refused as a whole.
func TestFull(t *testing.T) {
	s := open(t, t.TempDir(), &spool.Config{MaxBytes: 300})
	must(t, s.Append([][]byte{make([]byte, 100)}))
	if err := s.Append([][]byte{make([]byte, 10), make([]byte, 100)}); !errors.Is(err, store.ErrSpoolFull) {
		t.Errorf("got %v, want ErrSpoolFull", err)
	}
	entries, size := s.Size()
	same(t, "size", []int64{int64(entries), size}, []int64{1, 164})
	must(t, s.Append([][]byte{make([]byte, 72)}))
	_, last := texts(t, s, 10, 1000)
	must(t, s.Remove(last))
	must(t, s.Append([][]byte{make([]byte, 236)}))
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	if _, err := spool.Open(dir, nil); !errors.Is(err, spool.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if _, err := spool.Open(filepath.Join(dir, "file"), nil); err == nil {
		t.Error("a file was taken for a directory")
	}
	if _, err := spool.Open(dir, &spool.Config{MaxBytes: -1}); err == nil {
		t.Error("a negative bound was taken")
	}
	must(t, os.WriteFile(filepath.Join(dir, "spool.db"), bytes.Repeat([]byte("no database "), 10_000), 0o600))
	if _, err := spool.Open(dir, nil); err == nil || !strings.Contains(err.Error(), "spool.db") {
		t.Errorf("error %v does not name the file", err)
	}
}

// TestPrivate checks that other users cannot read what jobs have sent.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	dir := filepath.Join(t.TempDir(), "spool")
	open(t, dir, nil)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "spool.db"): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		same(t, path, info.Mode().Perm(), want)
	}
}

// TestOthersMayWrite refuses a directory and a file that other users may write, and says what to do.
func TestOthersMayWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	dir := filepath.Join(t.TempDir(), "spool")
	must(t, open(t, dir, nil).Close())
	file := filepath.Join(dir, "spool.db")
	for _, test := range []struct {
		path        string
		mode, right os.FileMode
	}{{dir, 0o770, 0o750}, {dir, 0o702, 0o755}, {file, 0o660, 0o640}, {file, 0o602, 0o644}} {
		must(t, os.Chmod(test.path, test.mode))
		if _, err := spool.Open(dir, nil); err == nil || !strings.Contains(err.Error(), "chmod go-w "+test.path) {
			t.Errorf("%s with mode %o: %v", test.path, test.mode, err)
		}
		must(t, os.Chmod(test.path, test.right))
		must(t, open(t, dir, nil).Close())
	}
}

// damaged fails if err is not that of a damaged file, with its name and what to do.
func damaged(t *testing.T, dir string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrSpoolDamaged) || !strings.Contains(err.Error(), filepath.Join(dir, "spool.db")) || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("got %v, want ErrSpoolDamaged with the file and a remedy", err)
	}
}

// filled returns the directory of a closed spool with entries, and its file.
func filled(t *testing.T) (dir string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir, nil)
	for n := range 40 {
		must(t, s.Append([][]byte{bytes.Repeat([]byte{byte(n)}, 3000)}))
	}
	must(t, s.Close())
	data, err := os.ReadFile(filepath.Join(dir, "spool.db"))
	must(t, err)
	return dir, data
}

// TestWildPages changes the list of free pages, so that the next write goes where no file reaches.
func TestWildPages(t *testing.T) {
	const pageSize, header, freeList = 4096, 16, 0x10
	for _, bit := range []int{43, 51, 63} { // too far, and at a negative offset
		dir, data := filled(t)
		for page := 0; page+pageSize <= len(data); page += pageSize {
			if binary.LittleEndian.Uint16(data[page+8:]) != freeList {
				continue
			}
			for i := range int(binary.LittleEndian.Uint16(data[page+10:])) {
				id := data[page+header+8*i:]
				binary.LittleEndian.PutUint64(id, binary.LittleEndian.Uint64(id)|1<<bit)
			}
		}
		must(t, os.WriteFile(filepath.Join(dir, "spool.db"), data, 0o600))
		s, err := openQueue(dir, nil)
		if err == nil {
			err = s.Append([][]byte{[]byte("new")})
		}
		damaged(t, dir, err)
	}
}

// TestEndlessPage gives each page of the file in turn a length that no memory could list.
func TestEndlessPage(t *testing.T) {
	const pageSize = 4096
	_, intact := filled(t)
	found := 0
	for page := 0; page+pageSize <= len(intact); page += pageSize {
		bad := bytes.Clone(intact)
		bad[page+15] = 0xff // the last byte of the count of pages that follow
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "spool.db"), bad, 0o600))
		s, err := openQueue(dir, nil)
		if err != nil {
			found++
			damaged(t, dir, err)
			continue
		}
		if err := s.Append([][]byte{[]byte("new")}); err != nil {
			damaged(t, dir, err)
		}
	}
	if found == 0 {
		t.Error("no such page was found")
	}
}

// TestFlippedBytes changes bytes of the file of a closed spool. Open finds that, or everything works.
func TestFlippedBytes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "spool.db")
	s := open(t, dir, nil)
	for n := range 40 {
		must(t, s.Append([][]byte{bytes.Repeat([]byte{byte(n)}, 3000), {byte(n)}}))
	}
	_, last := texts(t, s, 10, 1<<30)
	must(t, s.Remove(last))
	must(t, s.Close())
	intact, err := os.ReadFile(file)
	must(t, err)
	random := rand.New(rand.NewPCG(3, 2))
	found := 0
	for range 150 {
		bad := bytes.Clone(intact)
		page := random.IntN(len(bad)/4096) * 4096
		for range 1 + random.IntN(3) {
			bad[page+random.IntN(64)] ^= byte(1 + random.IntN(255)) // headers of pages, and what they list
		}
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "spool.db"), bad, 0o600))
		s, err := openQueue(dir, nil)
		if err != nil {
			found++
			damaged(t, dir, err)
			continue
		}
		list, err := s.Oldest(100, 1<<30)
		for _, step := range []func() error{
			func() error { return err },
			func() error { return s.Append([][]byte{[]byte("new")}) },
			func() error {
				if len(list) == 0 {
					return nil
				}
				return s.Remove(list[len(list)-1].Key)
			},
		} {
			if err := step(); err != nil {
				damaged(t, dir, err)
				break
			}
		}
		must(t, s.Close())
	}
	if found == 0 {
		t.Error("no damage was found")
	}
}

// TestDamagedInUse overwrites the file of a spool that is open. The spool says so, and adds nothing any more.
func TestDamagedInUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	must(t, s.Append([][]byte{make([]byte, 100_000)}))
	file, err := os.OpenFile(filepath.Join(dir, "spool.db"), os.O_WRONLY, 0)
	must(t, err)
	defer file.Close()
	info, err := file.Stat()
	must(t, err)
	_, err = file.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size())-2*os.Getpagesize()), int64(2*os.Getpagesize()))
	must(t, err)
	_, err = s.Oldest(1, 1)
	damaged(t, dir, err)
	damaged(t, dir, s.Append([][]byte{[]byte("lost")}))
	damaged(t, dir, s.Remove(1))
	must(t, s.Close())
}

// TestConcurrent appends from several goroutines while another removes.
func TestConcurrent(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	const writers, each = 4, 25
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				if err := s.Append([][]byte{fmt.Appendf(nil, "%d %d", w, n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [writers]int
	for seen := 0; seen < writers*each; {
		list, last := texts(t, s, 7, 1000)
		for _, text := range list {
			var w, n int
			if _, err := fmt.Sscan(text, &w, &n); err != nil || n != next[w] {
				t.Fatalf("%q came when number %d was due", text, next[w])
			}
			next[w]++
		}
		seen += len(list)
		must(t, s.Remove(last))
	}
	group.Wait()
	if entries, size := s.Size(); entries != 0 || size != 0 {
		t.Errorf("%d entries with %d bytes are left", entries, size)
	}
}

const child = "ROLLCALL_SPOOL_CHILD"

// TestKill kills a process that appends, again and again. All that Append has reported is there afterwards, in order.
func TestKill(t *testing.T) {
	if dir := os.Getenv(child); dir != "" {
		appendForever(dir)
	}
	dir := t.TempDir()
	reported := 0
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), child+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		for range rand.IntN(40) {
			if _, err := fmt.Fscan(out, &reported); err != nil {
				t.Fatal(err)
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		s := open(t, dir, nil)
		list, _ := texts(t, s, 100_000, 1<<30)
		if len(list) < reported {
			t.Fatalf("%d entries are left of %d", len(list), reported)
		}
		for n, text := range list {
			if text != fmt.Sprint(n+1) {
				t.Fatalf("entry %d is %s", n+1, text)
			}
		}
		must(t, s.Close())
	}
}

// appendForever appends ascending numbers and prints each one.
func appendForever(dir string) {
	s, err := openQueue(dir, nil)
	if err != nil {
		panic(err)
	}
	n, _ := s.Size()
	for {
		n++
		if err := s.Append([][]byte{fmt.Append(nil, n)}); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}
