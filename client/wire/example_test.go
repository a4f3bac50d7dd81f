package wire_test

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

func ExampleRequest() {
	body, err := wire.Request(checks.Spec{Name: new("backup"), Timeout: new(time.Hour)}, checks.UniqueName)
	fmt.Println(string(body), err)
	// Output: {"name":"backup","timeout":3600,"unique":["name"]} <nil>
}

func ExampleParseBody() {
	body, err := wire.ParseBody([]byte(`{"name": "backup", "grace": 60.5}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = body.Update()
	fmt.Println(err)
	// Output: grace is not a whole number: 60.5
}
