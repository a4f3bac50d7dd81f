package pings_test

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/pings"
)

func ExampleSignal_Normalized() {
	s, err := pings.Signal{ExitStatus: new(3)}.Normalized()
	fmt.Println(s.Kind, err)
	_, err = pings.Signal{Kind: pings.Success, ExitStatus: new(3)}.Normalized()
	fmt.Println(err)
	// Output:
	// fail <nil>
	// the kind success contradicts the exit status 3
}
