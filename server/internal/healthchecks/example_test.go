package healthchecks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rollcall-dev/rollcall/server/internal/healthchecks"
)

// The test server stands in for a Healthchecks server.
func Example() {
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"checks": [{"name": "Backup", "slug": "backup", "tags": "", "desc": "", "grace": 600,
			"timeout": 3600, "status": "up", "n_pings": 4, "manual_resume": false, "methods": "",
			"ping_url": "https://hc-ping.com/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f", "channels": ""}]}`)
	}))
	defer there.Close()
	source, err := healthchecks.New(there.URL, "0123456789abcdef0123456789abcdef", nil)
	if err != nil {
		panic(err)
	}
	list, err := source.Checks(context.Background())
	if err != nil {
		panic(err)
	}
	for _, c := range list {
		fmt.Println(*c.Spec.Name, c.Spec.ID, *c.Spec.Timeout)
	}
	// Output: Backup 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f 1h0m0s
}
