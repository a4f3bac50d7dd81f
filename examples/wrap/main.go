// Command wrap reports a function as a job: its start, then its success or its failure. $PING_URL is the ping URL of its
// check.
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
		log.Print("monitoring: ", pingErr) // no reason for the job to fail
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
