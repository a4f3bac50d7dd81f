// Package spool keeps pings in a file while the database is unavailable. Pass a spool to the monitor, and close it after
// the monitor's Run has returned:
//
//	queue, err := spool.Open("/var/lib/jobs/spool", nil)
//	defer queue.Close()
//	mon, err := monitor.New(store, &monitor.Config{Spool: queue})
//
// The package documentation of monitor says what a spool means for pings and deadlines.
//
// # The file
//
// A spool is a bbolt database, spool.db, in a directory that nobody else can read: pings may hold secrets. Pings that
// arrive together are one transaction, which is on the disk before they are answered. The directory must be on a disk that survives a restart, and
// that does not fail together with the database. The file does not shrink, but its free pages are used again.
//
// Nobody but the owner may be able to write the directory and the file: [Open] refuses others, because anyone who writes there
// can forge pings. If the file is damaged, Open says so, or the health of the monitor does, and the spool is not used
// any more.
//
// One process at a time can open a spool. Do not copy a spool that is in use to another server: both would record its pings,
// each of which the database takes once.
package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	defaultMaxBytes = 1 << 30
	// entryBytes is what an entry counts in addition to its data.
	entryBytes = 64
	// checkEvery is how often Append checks that the file is still at its path.
	checkEvery = time.Second
	// probeBytes is how much Probe writes.
	probeBytes = 64 << 10
	// lockWait is how long Open waits for another process that has the spool open, which may be about to end.
	lockWait = time.Second
)

// errInUse means that another process has the spool open.
var errInUse = errors.New("spool: another process uses it")

// Config configures a [Spool]. The zero value of a field selects its default.
type Config struct {
	// MaxBytes bounds the entries, each of which counts 64 bytes in addition to its data. The file can be larger by about
	// a half. Default: 1 GiB.
	MaxBytes int64
}

// Spool is a durable queue in a file, for a monitor's Config.Spool. It is safe for concurrent use.
type Spool struct{ file *file }

// Contract returns what a monitor calls. Its type is internal, and changes with every version.
func (s *Spool) Contract() any {
	if s == nil || s.file == nil {
		return nil // as of an Open that failed; the monitor refuses it
	}
	return s.file
}

// Close closes the file. Entries stay in it. A damaged file is closed when the process ends.
func (s *Spool) Close() error { return s.file.close() }

// file is the queue.
type file struct {
	path     string
	db       *bolt.DB
	id       uuid.UUID
	maxBytes int64
	entries  atomic.Int64
	bytes    atomic.Int64
	damage   atomic.Pointer[error] // why the file is not used any more
	info     os.FileInfo           // of the open file
	checked  atomic.Int64          // when it was last at its path, in Unix nanoseconds
}

var _ store.Spool = (*file)(nil)

var (
	metaBucket  = []byte("meta")
	entryBucket = []byte("entries")
	idKey       = []byte("id")
	probeKey    = []byte("probe")
)

// Open opens the spool in a directory and makes both if need be. It reads all entries once to count them. If another
// process has the spool open, Open waits for a second and fails.
func Open(dir string, config *Config) (*Spool, error) {
	var c Config
	if config != nil {
		c = *config
	}
	if c.MaxBytes < 0 {
		return nil, fmt.Errorf("spool: MaxBytes is negative: %d", c.MaxBytes)
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s := &file{path: filepath.Join(dir, "spool.db"), maxBytes: c.MaxBytes}
	for _, name := range []string{dir, s.path} {
		if err := private(name); err != nil {
			return nil, err
		}
	}
	err := s.guard(func() (err error) {
		s.db, err = bolt.Open(s.path, 0o600, &bolt.Options{Timeout: lockWait, FreelistType: bolt.FreelistMapType})
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: %s", errInUse, s.path)
	case errors.Is(err, store.ErrSpoolDamaged):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("spool: cannot open %s: %w", s.path, err)
	}
	if err = s.update(s.load); err == nil {
		s.info, err = os.Stat(s.path)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Spool{s}, nil
}

// private returns an error if others may write a directory or a file. A file that does not exist is private.
func private(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("spool: other users may write %s (mode %04o): they could forge pings; run chmod go-w %[1]s",
			name, info.Mode().Perm())
	}
	return nil
}

// guard runs do, and returns an error where bbolt panics because the file is damaged. Nothing runs after that: bbolt may hold
// locks.
func (s *file) guard(do func() error) (err error) {
	if damage := s.damage.Load(); damage != nil {
		return *damage
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a wrong number of a page is an address outside of the file
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", store.ErrSpoolDamaged, r)
		}
		if isDamage(err) {
			err = s.damaged(err)
			s.damage.Store(&err)
		}
	}()
	return do()
}

var signsOfDamage = []error{
	store.ErrSpoolDamaged, bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrIncompatibleValue,
	syscall.EFBIG, syscall.EINVAL, // a write to a page whose number is wrong
}

// isDamage reports whether an error means that the file is damaged. A limit on its size is like a full disk.
func isDamage(err error) bool {
	if errors.Is(err, syscall.EFBIG) && limited() {
		return false
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "writeat" {
		return true // a negative offset
	}
	return slices.ContainsFunc(signsOfDamage, func(sign error) bool { return errors.Is(err, sign) })
}

// damaged returns an error that says what to do.
func (s *file) damaged(reason error) error {
	if !errors.Is(reason, store.ErrSpoolDamaged) {
		reason = fmt.Errorf("%w: %w", store.ErrSpoolDamaged, reason)
	}
	return fmt.Errorf("spool: %s cannot be used; stop the server, move the file away, and start the server again with a new one: "+
		"the pings in the old one are not recorded: %w", s.path, reason)
}

func (s *file) update(fn func(*bolt.Tx) error) error {
	return s.guard(func() error { return s.db.Update(fn) })
}

func (s *file) view(fn func(*bolt.Tx) error) error {
	return s.guard(func() error { return s.db.View(fn) })
}

// load reads the identifier, or makes one, and counts the entries.
func (s *file) load(tx *bolt.Tx) error {
	if err := withinFile(tx); err != nil {
		return err
	}
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	if text := meta.Get(idKey); text == nil {
		s.id = uuid.New()
		err = meta.Put(idKey, s.id[:])
	} else {
		s.id, err = uuid.FromBytes(text)
	}
	if err != nil {
		return err
	}
	entries, err := tx.CreateBucketIfNotExists(entryBucket)
	if err != nil {
		return err
	}
	last := uint64(0)
	return entries.ForEach(func(key, data []byte) error {
		n := binary.BigEndian.Uint64(key)
		if n <= last || n > entries.Sequence() || int64(len(data)) > tx.Size() {
			return fmt.Errorf("%w: entry %d follows %d of %d", store.ErrSpoolDamaged, n, last, entries.Sequence())
		}
		last = n
		s.entries.Add(1)
		s.bytes.Add(int64(len(data)) + entryBytes)
		return nil
	})
}

// withinFile checks that every page in use ends within the file: bbolt would list up to four billion pages when it frees one
// that does not.
func withinFile(tx *bolt.Tx) error {
	pages := int(tx.Size()) / tx.DB().Info().PageSize
	for id := 0; id < pages; id++ {
		page, err := tx.Page(id)
		if err != nil {
			return err
		}
		if page.Type == "free" {
			continue
		}
		if page.OverflowCount >= pages-id {
			return fmt.Errorf("%w: page %d ends behind the file", store.ErrSpoolDamaged, id)
		}
		id += page.OverflowCount
	}
	return nil
}

func (s *file) close() error {
	if s.damage.Load() != nil {
		return nil
	}
	return s.guard(s.db.Close)
}

// ID identifies the spool; see [store.Spool].
func (s *file) ID() uuid.UUID { return s.id }

// Probe checks that the spool takes pings; see [store.Spool].
func (s *file) Probe(write bool) error {
	if damage := s.damage.Load(); damage != nil {
		return *damage
	}
	if err := s.inPlace(); err != nil || !write {
		return err
	}
	for _, data := range [][]byte{make([]byte, probeBytes), nil} {
		err := s.update(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(probeKey, data) })
		if err != nil {
			return wrapped(err)
		}
	}
	return nil
}

// inPlace returns [store.ErrReplaced] unless the file is still at its path.
func (s *file) inPlace() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.info) {
		return fmt.Errorf("spool: %s: %w", s.path, store.ErrReplaced)
	}
	s.checked.Store(time.Now().UnixNano())
	return nil
}

// Append adds entries at the end; see [store.Spool].
func (s *file) Append(list [][]byte) error {
	if since := time.Now().UnixNano() - s.checked.Load(); since < 0 || since >= int64(checkEvery) {
		if err := s.inPlace(); err != nil {
			return err
		}
	}
	added := int64(0)
	for _, data := range list {
		added += int64(len(data)) + entryBytes
	}
	err := s.update(func(tx *bolt.Tx) error {
		if s.bytes.Load()+added > s.maxBytes { // in the transaction, of which there is one at a time
			return fmt.Errorf("%w: %d of %d bytes are used", store.ErrSpoolFull, s.bytes.Load(), s.maxBytes)
		}
		bucket := tx.Bucket(entryBucket)
		bucket.FillPercent = 1 // keys only grow
		for _, data := range list {
			key, err := bucket.NextSequence()
			if err != nil {
				return err
			}
			if err := bucket.Put(binary.BigEndian.AppendUint64(nil, key), data); err != nil {
				return err
			}
		}
		tx.OnCommit(func() { s.count(int64(len(list)), added) })
		return nil
	})
	return wrapped(err)
}

// wrapped adds the name of the package to an error of bbolt.
func wrapped(err error) error {
	if err == nil || errors.Is(err, store.ErrSpoolFull) || errors.Is(err, store.ErrSpoolDamaged) {
		return err
	}
	return fmt.Errorf("spool: %w", err)
}

func (s *file) count(entries, bytes int64) {
	s.entries.Add(entries)
	s.bytes.Add(bytes)
}

// Oldest returns the first entries; see [store.Spool].
func (s *file) Oldest(limit, maxBytes int) (list []store.SpoolEntry, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(entryBucket).Cursor()
		for key, data := cursor.First(); key != nil && len(list) < limit; key, data = cursor.Next() {
			if maxBytes -= len(data); maxBytes < 0 && len(list) > 0 {
				return nil
			}
			// The transaction's memory is gone after it.
			list = append(list, store.SpoolEntry{Key: binary.BigEndian.Uint64(key), Data: append([]byte{}, data...)})
		}
		return nil
	})
	return list, wrapped(err)
}

// Remove removes all entries up to and including one; see [store.Spool].
func (s *file) Remove(upTo uint64) error {
	err := s.update(func(tx *bolt.Tx) error {
		var entries, bytes int64
		bucket := tx.Bucket(entryBucket)
		cursor := bucket.Cursor()
		last := uint64(0)
		for key, data := cursor.First(); key != nil && binary.BigEndian.Uint64(key) <= upTo; key, data = cursor.First() {
			n := binary.BigEndian.Uint64(key)
			if n <= last {
				return fmt.Errorf("%w: entry %d cannot be removed", store.ErrSpoolDamaged, last)
			}
			last, entries, bytes = n, entries+1, bytes+int64(len(data))+entryBytes
			if err := bucket.Delete(key); err != nil {
				return err
			}
		}
		tx.OnCommit(func() { s.count(-entries, -bytes) })
		return nil
	})
	return wrapped(err)
}

// Size returns the number of entries and the bytes in them; see [store.Spool].
func (s *file) Size() (entries int, bytes int64) { return int(s.entries.Load()), s.bytes.Load() }
