// Command rollcall runs and administers Rollcall, a dead man's switch for scheduled jobs.
//
//	rollcall serve             # run the service; its first start prints a key and a curl command to try
//	rollcall --help            # list all commands
//	rollcall serve --help      # explain one of them
//
// The exit status is 0 on success, 1 on failure, and 2 if the command line is wrong.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
