package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// profileEnv names the file that a binary with the profiler writes.
const profileEnv = "LOAD_PROFILE"

// profiler is compiled into the binary, which has no profiler of its own. SIGUSR1 completes the profile.
const profiler = `package main

import (
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

func init() {
	name := os.Getenv("` + profileEnv + `")
	if name == "" {
		return
	}
	file, err := os.Create(name)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		panic(err)
	}
	done := make(chan os.Signal, 1)
	signal.Notify(done, syscall.SIGUSR1)
	go func() {
		<-done
		pprof.StopCPUProfile()
		os.Exit(0)
	}()
}
`

// buildProfiled is [program.Build] with the profiler.
func buildProfiled(ctx context.Context, dir string) (string, error) {
	source, err := program.Source(ctx)
	if err != nil {
		return "", err
	}
	added, overlay := filepath.Join(dir, "profiler.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(added, []byte(profiler), 0o644); err != nil {
		return "", err
	}
	replace := map[string]string{filepath.Join(source, "profiler.go"): added}
	document, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, document, 0o644); err != nil {
		return "", err
	}
	return program.Build(ctx, dir, "-overlay", overlay)
}
