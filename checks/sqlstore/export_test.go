package sqlstore

import (
	"context"
	"io/fs"
	"testing/fstest"
)

// CheckVersion is checkVersion.
func CheckVersion(number int) error { return checkVersion(number) }

// CheckServer is checkServer.
func (s *Store) CheckServer(ctx context.Context) error { return s.checkServer(ctx) }

// MigrateFurther does what MigrateFrom of a later version would do: one that has a further migration.
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

// LimitCache changes how many bytes the cache takes at most.
func (s *Store) LimitCache(bytes int) { s.cache.limit = bytes }

// CacheSize returns how many checks are cached and how many bytes they take.
func (s *Store) CacheSize() (entries, bytes int) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return len(s.cache.byID), s.cache.bytes
}

// WaitForCheckpoint returns when the checkpoint that has begun after bodies is over, if there is one.
func (s *Store) WaitForCheckpoint() {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
}
