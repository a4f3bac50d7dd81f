package target_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/client/target"
)

// The test server has no checks and no channels.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v3/checks/":
			fmt.Fprint(w, `{"checks": []}`)
		case "/api/v3/channels/":
			fmt.Fprint(w, `{"channels": []}`)
		}
	}))
	defer server.Close()
	doc, err := declare.Parse([]byte(`
projects:
  - name: default
    checks:
      - {slug: nightly, schedule: "0 3 * * *", tz: Europe/Riga}
`), nil)
	if err != nil {
		panic(err)
	}
	c, err := client.New(server.URL, "rcw_0123456789abcdef0123456789ab", nil)
	if err != nil {
		panic(err)
	}
	plan, err := declare.NewPlan(context.Background(), target.New(c), doc, nil)
	if err != nil {
		panic(err)
	}
	for _, change := range plan.Changes {
		fmt.Println(change.Action, change.Type, change.Name)
	}
	// Output: create check nightly
}
