// Command wrap reports a function of a program as a job: its start, and its end or its failure. The ping URL of the
// check is in $PING_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rollcall-dev/rollcall/client"
)

func main() {
	pinger, err := client.NewPinger(os.Getenv("PING_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	err, pingErr := pinger.Run(context.Background(), func(ctx context.Context) error { return backup(ctx, os.Args[1]) })
	if pingErr != nil {
		log.Print("monitoring: ", pingErr) // no reason to stop
	}
	if err != nil {
		log.Fatal(err)
	}
}

// backup is the job.
func backup(_ context.Context, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d files\n", len(files))
	return nil
}
