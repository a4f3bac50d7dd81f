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
