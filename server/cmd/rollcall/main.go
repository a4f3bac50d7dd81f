// Command rollcall runs and administers Rollcall, a dead man's switch for scheduled jobs.
//
//	rollcall serve             # starts the service; the first start prints a key and a curl line to try
//	rollcall --help            # lists all commands
//	rollcall serve --help      # explains one of them
//
// It exits with status 0 when all went well, 1 when something went wrong, and 2 when the command line is wrong.
package main

import (
	"os"
	_ "time/tzdata" // so that time zones do not depend on the machine
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
