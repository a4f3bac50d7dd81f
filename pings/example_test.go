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

func ExampleEnds() {
	output := pings.NewEnds(24)
	for i := range 1000 {
		fmt.Fprintf(output, "file %04d\n", i)
	}
	fmt.Fprint(output, "disk full\n")
	body, cut := output.Body()
	fmt.Printf("%q, %d bytes left out", body, cut)
	// Output: "file 0000\nfi9\ndisk full\n", 9986 bytes left out
}
