package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// directory keeps bodies as files, for a program on one machine.
type directory string

var _ monitor.BodyStore = directory("")

func (d directory) path(key string) string {
	return filepath.Join(string(d), strings.ReplaceAll(key, "/", "_"))
}

func (d directory) Put(_ context.Context, key string, body []byte) error {
	f, err := os.OpenFile(d.path(key), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Sync(), f.Close()) // durable: the database's copy is deleted next
}

func (d directory) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	body, err := os.ReadFile(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, checks.ErrNotFound
	}
	return body, err
}

func (d directory) Remove(_ context.Context, keys []string) error {
	for _, key := range keys {
		if err := os.Remove(d.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Anything that puts, gets and removes bytes can keep the bodies of pings.
func ExampleBodyStore() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bodies-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	var bodies monitor.BodyStore = directory(dir) // for Config.Bodies
	fmt.Println(bodies.Put(ctx, "check/1", []byte("a large body")))
	body, err := bodies.Get(ctx, "check/1", 12)
	fmt.Printf("%s %v\n", body, err)
	fmt.Println(bodies.Remove(ctx, []string{"check/1"}))
	_, err = bodies.Get(ctx, "check/1", 12)
	fmt.Println(err)
	// Output:
	// <nil>
	// a large body <nil>
	// <nil>
	// not found
}
