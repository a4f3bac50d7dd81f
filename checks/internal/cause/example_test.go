package cause_test

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/checks/internal/cause"
)

func ExampleLine() {
	fmt.Println(cause.Line([]byte("exporting ledger\ntar: /backup: No space left on device\nexit status 2\n")))
	// Output: tar: /backup: No space left on device
}

// Three jobs fail in the same night.
func ExampleKey() {
	count := make(map[string]int)
	for _, line := range []string{
		"tar: /backup/srv.tar: Wrote only 4096 of 10240 bytes: No space left on device",
		"OSError: [Errno 28] No space left on device: '/backup/tmp'",
		"curl: (7) Failed to connect to bank.example.org port 443: Connection refused",
	} {
		key, _ := cause.Key(line)
		count[key]++
	}
	fmt.Println(count)
	// Output: map[Connection refused:1 No space left on device:2]
}
