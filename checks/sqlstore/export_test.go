package sqlstore

import (
	"context"
	"io/fs"
	"testing/fstest"
)

// CheckVersion exports checkVersion.
func CheckVersion(number int) error { return checkVersion(number) }

// CheckServer exports checkServer.
func (s *Store) CheckServer(ctx context.Context) error { return s.checkServer(ctx) }

// MigrateFurther does what MigrateFrom does in a later version, which has one more migration.
func (s *Store) MigrateFurther(ctx context.Context, sql string) (before, after int, err error) {
	set := fstest.MapFS{"migrations/9999_further.sql": &fstest.MapFile{Data: []byte(sql)}}
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, 0, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(migrations, file)
		if err != nil {
			return 0, 0, err
		}
		set[file] = &fstest.MapFile{Data: text}
	}
	return s.migrateFiles(ctx, set)
}

// LimitCache sets the largest size of the cache in bytes.
func (s *Store) LimitCache(bytes int) { s.cache.limit = bytes }

// CacheSize returns how many checks are cached and the estimate of their size in bytes.
func (s *Store) CacheSize() (entries, bytes int) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return len(s.cache.byID), s.cache.bytes
}

// WaitForCheckpoint returns when no checkpoint is running.
func (s *Store) WaitForCheckpoint() {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
}
