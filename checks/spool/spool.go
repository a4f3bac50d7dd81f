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
// A spool is a bbolt database, spool.db, in a directory that nobody else can read: pings may hold secrets. Each Append is
// one transaction, which is on the disk when Append returns. The directory must be on a disk that survives a restart, and
// that does not fail together with the database. The file does not shrink, but its free pages are used again.
//
// One process at a time can open a spool. Do not copy a spool that is in use to another server: both would record its pings,
// each of which the database takes once.
package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/rollcall-dev/rollcall/checks/store"
)

const (
	// DefaultMaxBytes is the default of [Config].MaxBytes: 1 GiB.
	DefaultMaxBytes = 1 << 30
	// entryBytes is what an entry counts in addition to its data.
	entryBytes = 64
	// lockWait is how long Open waits for another process that has the spool open, which may be about to end.
	lockWait = time.Second
)

// ErrInUse means that another process has the spool open.
var ErrInUse = errors.New("spool: another process uses it")

// Config configures a [Spool]. The zero value of a field selects its default.
type Config struct {
	// MaxBytes bounds the entries, each of which counts 64 bytes in addition to its data. The file can be larger by about
	// a half. Default: [DefaultMaxBytes].
	MaxBytes int64
}

// Spool is a durable queue in a file. It is safe for concurrent use.
type Spool struct {
	db       *bolt.DB
	id       uuid.UUID
	maxBytes int64
	entries  atomic.Int64
	bytes    atomic.Int64
}

var _ store.Spool = (*Spool)(nil)

var (
	metaBucket  = []byte("meta")
	entryBucket = []byte("entries")
	idKey       = []byte("id")
)

// Open opens the spool in a directory and makes both if need be. It reads all entries once to count them. If another
// process has the spool open, Open waits for a second and fails with [ErrInUse].
func Open(dir string, config *Config) (*Spool, error) {
	var c Config
	if config != nil {
		c = *config
	}
	if c.MaxBytes < 0 {
		return nil, fmt.Errorf("spool: MaxBytes is negative: %d", c.MaxBytes)
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	path := filepath.Join(dir, "spool.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait, FreelistType: bolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: %s", ErrInUse, path)
	}
	if err != nil {
		return nil, fmt.Errorf("spool: cannot open %s: %w", path, err)
	}
	s := &Spool{db: db, maxBytes: c.MaxBytes}
	if err := db.Update(s.load); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: cannot read %s: %w", path, err), db.Close())
	}
	return s, nil
}

// load reads the identifier, or makes one, and counts the entries.
func (s *Spool) load(tx *bolt.Tx) error {
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
	return entries.ForEach(func(_, data []byte) error {
		s.entries.Add(1)
		s.bytes.Add(int64(len(data)) + entryBytes)
		return nil
	})
}

// Close closes the file. Entries stay in it.
func (s *Spool) Close() error { return s.db.Close() }

// ID identifies the spool; see [store.Spool].
func (s *Spool) ID() uuid.UUID { return s.id }

// Append adds entries at the end; see [store.Spool].
func (s *Spool) Append(list [][]byte) error {
	added := int64(0)
	for _, data := range list {
		added += int64(len(data)) + entryBytes
	}
	err := s.db.Update(func(tx *bolt.Tx) error {
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
	if err != nil && !errors.Is(err, store.ErrSpoolFull) {
		return fmt.Errorf("spool: %w", err)
	}
	return err
}

func (s *Spool) count(entries, bytes int64) {
	s.entries.Add(entries)
	s.bytes.Add(bytes)
}

// Oldest returns the first entries; see [store.Spool].
func (s *Spool) Oldest(limit, maxBytes int) (list []store.SpoolEntry, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
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
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return list, nil
}

// Remove removes all entries up to and including one; see [store.Spool].
func (s *Spool) Remove(upTo uint64) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		var entries, bytes int64
		bucket := tx.Bucket(entryBucket)
		cursor := bucket.Cursor()
		for key, data := cursor.First(); key != nil && binary.BigEndian.Uint64(key) <= upTo; key, data = cursor.First() {
			entries, bytes = entries+1, bytes+int64(len(data))+entryBytes
			if err := bucket.Delete(key); err != nil {
				return err
			}
		}
		tx.OnCommit(func() { s.count(-entries, -bytes) })
		return nil
	})
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// Size returns the number of entries and the bytes in them; see [store.Spool].
func (s *Spool) Size() (entries int, bytes int64) { return int(s.entries.Load()), s.bytes.Load() }
