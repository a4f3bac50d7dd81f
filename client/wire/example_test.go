package wire_test

import (
	"encoding/json"
	"fmt"

	"github.com/rollcall-dev/rollcall/client/wire"
)

func ExampleCheckCreate() {
	body, err := json.Marshal(wire.CheckCreate{
		CheckUpdate: wire.CheckUpdate{Name: new("backup"), Timeout: new(int64(3600))},
		Unique:      []string{"name"},
	})
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
