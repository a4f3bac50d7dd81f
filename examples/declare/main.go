// Command declare keeps the checks of a program the way a file describes them. Its arguments are the database file and
// the file with the checks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

func main() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true}) // the server delivers
	check(err)

	data, err := os.ReadFile(os.Args[2])
	check(err)
	doc, err := declare.Parse(data, &declare.Config{Name: os.Args[2], Types: standard.Kinds(), Env: variable})
	check(err) // one line for each error in the file
	target := declare.OnProjects(mon.Projects())
	plan, err := declare.NewPlan(ctx, target, doc, nil)
	check(err)
	fmt.Print(plan)
	_, err = plan.Apply(ctx, target, nil)
	check(err)
	fmt.Println(len(plan.Changes), "changes")
}

// variable reads the variables that are meant for the file. The others are none of its author's business.
func variable(name string) (string, error) {
	value := os.Getenv(name)
	if value == "" || !strings.HasPrefix(name, "JOBS_") {
		return "", errors.New("is not set, or does not begin with JOBS_")
	}
	return value, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
