package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// Bounds of the pings of one URL that wait. If a new ping exceeds one, the oldest is deleted, and OnPingError says so.
const (
	maxQueuedPings = 1000
	maxQueuedBytes = 32 << 20
	// maxQueueFile bounds the file of a ping, in bytes.
	maxQueueFile = 64 << 20
)

const (
	waitingExt = ".ping"    // waits
	refusedExt = ".refused" // the server does not take it
	corruptExt = ".corrupt" // cannot be read
	tempExt    = ".tmp"     // is being written
	lockFile   = "lock"

	// lockEvery is how often a lock is tried that another process has.
	lockEvery = 20 * time.Millisecond
	// tempAge is when the file of a writer that died is deleted.
	tempAge = time.Hour
)

// errLocked is the error of a lock that another process or goroutine has.
var errLocked = errors.New("another process is sending the pings of the queue")

// queue keeps the pings of one ping URL in the files of a directory. The names of the files are in the order of the
// pings. A process that sends or deletes pings holds the lock, so pings are sent one at a time.
type queue struct {
	dir string

	mu        sync.Mutex
	unwritten map[string]waiting // pings that the disk did not take, by the names that their files would have; they wait in memory
}

// newQueue makes the directory for a ping URL, which it names by a hash, because the URL is a secret.
func newQueue(root, pingURL string) (*queue, error) {
	dir, err := queueDir(root, pingURL)
	if err != nil {
		return nil, err
	}
	q := &queue{dir: dir}
	if err := os.MkdirAll(q.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(q.dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := tryLock(f); err != nil && err != errLocked {
		return nil, err
	}
	return q, nil
}

// queueDir returns the directory of a ping URL.
func queueDir(root, pingURL string) (string, error) {
	root, err := filepath.Abs(root) // the program may change its directory
	sum := sha256.Sum256([]byte(pingURL))
	return filepath.Join(root, hex.EncodeToString(sum[:16])), err
}

// lock waits for the lock until ctx or the time ends. A zero time is none. The error then wraps errLocked.
func (q *queue) lock(ctx context.Context, end time.Time) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(q.dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = tryLock(f); err == nil {
			return func() { f.Close() }, nil
		}
		if err != errLocked || !end.IsZero() && time.Until(end) <= lockEvery {
			break
		}
		if ended := sleep(ctx, lockEvery); ended != nil {
			err = fmt.Errorf("%w: %w", ended, err)
			break
		}
	}
	f.Close()
	return nil, err
}

type waiting struct {
	At          time.Time  `json:"at"`
	Kind        pings.Kind `json:"kind"`
	RunID       *uuid.UUID `json:"rid,omitempty"`
	ExitStatus  *int       `json:"exit_status,omitempty"`
	Body        []byte     `json:"body,omitempty"`
	BodyCut     int64      `json:"body_cut,omitempty"`
	BodyCharset string     `json:"body_charset,omitempty"`
}

func newWaiting(s pings.Signal, at time.Time) waiting {
	w := waiting{
		At: at.UTC().Truncate(time.Microsecond), Kind: s.Kind, ExitStatus: s.ExitStatus,
		Body: s.Body, BodyCut: s.BodyCut, BodyCharset: s.BodyCharset,
	}
	if s.RunID.Valid {
		w.RunID = &s.RunID.UUID
	}
	return w
}

func (w waiting) signal() pings.Signal {
	s := pings.Signal{Kind: w.Kind, ExitStatus: w.ExitStatus, Body: w.Body, BodyCut: w.BodyCut, BodyCharset: w.BodyCharset}
	if w.RunID != nil {
		s.RunID = uuid.NullUUID{UUID: *w.RunID, Valid: true}
	}
	return s
}

// list returns the names of the waiting pings in their order. With an error, the names are those that it could find.
func (q *queue) list() ([]string, error) {
	names := q.inMemory()
	entries, err := os.ReadDir(q.dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), waitingExt) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// put adds a ping at the end. It is durable when put returns nil. With an error, such as that of a full disk, it is in memory
// alone. The caller need not hold the lock.
func (q *queue) put(w waiting) error {
	names, err := q.list()
	number := w.At.UnixMicro()
	if len(names) > 0 {
		number = max(number, numberOf(names[len(names)-1])+1) // the clock may have been set back
	}
	name := fmt.Sprintf("%016d-%s%s", number, rand.Text()[:6], waitingExt)
	if err == nil {
		err = q.write(name, w)
	}
	if err != nil {
		err = errors.Join(err, q.hold(name, w))
	}
	return err
}

// write writes the file of a ping. After an error there is none.
func (q *queue) write(name string, w waiting) error {
	document, err := json.Marshal(w)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(document)
	temp, err := os.CreateTemp(q.dir, "*"+tempExt)
	if err != nil {
		return err
	}
	_, err = temp.WriteString(hex.EncodeToString(sum[:]) + "\n" + string(document))
	err = cmp.Or(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(q.dir, name))
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return err
	}
	if err = syncDir(q.dir); err != nil {
		_ = q.remove(name)
	}
	return err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// numberOf returns the number that a file name begins with: usually microseconds since 1970.
func numberOf(name string) int64 {
	digits, _, _ := strings.Cut(name, "-")
	number, _ := strconv.ParseInt(digits, 10, 64)
	return number
}

// read returns the ping in a file. It opens nothing but regular files, because opening a named pipe waits for a writer.
func (q *queue) read(name string) (waiting, error) {
	q.mu.Lock()
	w, unwritten := q.unwritten[name]
	q.mu.Unlock()
	if unwritten {
		return w, nil
	}
	path := filepath.Join(q.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return w, err
	}
	switch {
	case !info.Mode().IsRegular():
		return w, errors.New("it is not a regular file")
	case info.Size() > maxQueueFile:
		return w, fmt.Errorf("it has %d bytes, more than a ping", info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return w, err
	}
	text, document, _ := bytes.Cut(data, []byte("\n"))
	sum := sha256.Sum256(document)
	if string(text) != hex.EncodeToString(sum[:]) {
		return w, errors.New("its checksum is wrong")
	}
	if err := json.Unmarshal(document, &w); err != nil {
		return w, err
	}
	if w.Kind == "" || w.At.IsZero() {
		return w, errors.New("it has no kind or no time")
	}
	_, err = w.signal().Normalized()
	return w, err
}

func (q *queue) remove(name string) error {
	if q.release(name) {
		return nil
	}
	return os.Remove(filepath.Join(q.dir, name))
}

// rename gives a file that is not to be sent another extension, and returns its path, "" if there is no file.
func (q *queue) rename(name, ext string) (string, error) {
	if q.release(name) {
		return "", nil
	}
	to := filepath.Join(q.dir, strings.TrimSuffix(name, waitingExt)+ext)
	return to, os.Rename(filepath.Join(q.dir, name), to)
}

// hold keeps a ping in memory. The error says which it has dropped to have room.
func (q *queue) hold(name string, w waiting) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unwritten == nil {
		q.unwritten = map[string]waiting{}
	}
	w.Body = bytes.Clone(w.Body)
	q.unwritten[name] = w
	size := 0
	for _, held := range q.unwritten {
		size += len(held.Body)
	}
	var errs []error
	for len(q.unwritten) > maxQueuedPings || size > maxQueuedBytes && len(q.unwritten) > 1 {
		oldest := slices.Min(slices.Collect(maps.Keys(q.unwritten)))
		size -= len(q.unwritten[oldest].Body)
		errs = append(errs, fmt.Errorf("the oldest of too many pings was dropped, of %s", q.unwritten[oldest].At.Format(time.RFC3339)))
		delete(q.unwritten, oldest)
	}
	return errors.Join(errs...)
}

// release forgets a ping in memory, and reports whether there was one.
func (q *queue) release(name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, held := q.unwritten[name]
	delete(q.unwritten, name)
	return held
}

// inMemory returns the names of the pings in memory in their order.
func (q *queue) inMemory() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Sorted(maps.Keys(q.unwritten))
}

// spill writes the pings in memory to the disk, as many as it takes.
func (q *queue) spill() {
	for _, name := range q.inMemory() {
		w, err := q.read(name)
		if err != nil || q.write(name, w) != nil {
			return
		}
		q.release(name)
	}
}

// clear forgets the pings in memory, and returns their number.
func (q *queue) clear() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.unwritten)
	q.unwritten = nil
	return n
}

// trim deletes the oldest files until the bounds hold, first those that were set aside. The caller holds the lock.
func (q *queue) trim() error {
	entries, err := os.ReadDir(q.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	size := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // another process has just renamed it
		}
		switch filepath.Ext(e.Name()) {
		case tempExt:
			if time.Since(info.ModTime()) > tempAge {
				_ = q.remove(e.Name())
			}
		case waitingExt, refusedExt, corruptExt:
			files = append(files, info)
			size += info.Size()
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int {
		aWaits, bWaits := filepath.Ext(a.Name()) == waitingExt, filepath.Ext(b.Name()) == waitingExt
		switch {
		case aWaits == bWaits:
			return 0
		case aWaits:
			return 1
		}
		return -1
	})
	var errs []error
	for len(files) > maxQueuedPings || size > maxQueuedBytes && len(files) > 1 {
		oldest := files[0]
		if err := q.remove(oldest.Name()); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, fmt.Errorf("client: queue: it is full, so its oldest ping was deleted, of %s", time.UnixMicro(numberOf(oldest.Name())).UTC().Format(time.RFC3339)))
		files, size = files[1:], size-oldest.Size()
	}
	return errors.Join(errs...)
}
