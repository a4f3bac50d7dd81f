// Year lives through a year of a check in a moment. It uses the pure packages alone: no database, no clock, no goroutine.
//
//	go run -C examples ./year
//
// The job runs at 02:30 in Berlin, fails now and then, is paused for a week, and stops in November.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func main() {
	if err := run(); err != nil {
		log.Fatal("year: ", err)
	}
}

func run() error {
	const expression = "30 2 * * *"
	berlin, err := schedule.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	s, err := schedule.Parse(expression)
	if err != nil {
		return err
	}
	from := time.Date(2026, time.January, 1, 0, 0, 0, 0, berlin)
	to := from.AddDate(1, 0, 0)
	stops := time.Date(2026, time.November, 20, 12, 0, 0, 0, berlin)
	pause := time.Date(2026, time.August, 3, 9, 0, 0, 0, berlin)
	c, err := checks.New(uuid.New(), checks.Spec{Name: new("backup"), Schedule: new(expression), TZ: new("Europe/Berlin")}, from)
	if err != nil {
		return err
	}
	var history []flips.Flip // newest first
	note := func(e checks.Effects) {
		for _, t := range e.Transitions {
			history = append([]flips.Flip{t.Flip()}, history...)
			fmt.Printf("%s  %-4s  %s\n", t.At.In(berlin).Format("Jan 02 15:04 MST"), t.To, t.Reason)
		}
	}

	paused := false
	for at := s.Next(from); at.Before(stops); at = s.Next(at) {
		var effects checks.Effects
		if !paused && at.After(pause) {
			c, effects = c.Pause(pause)
			note(effects)
			paused = true
		}
		if paused && at.Before(pause.AddDate(0, 0, 7)) {
			continue
		}
		signal := pings.Signal{Kind: pings.Success}
		if at.Day() == 13 && at.Month()%3 == 0 {
			signal.Kind = pings.Failure
		}
		if c, _, effects, err = c.Ping(signal, at.Add(10*time.Minute)); err != nil {
			return err
		}
		note(effects)
	}
	c, effects := c.Settle(to)
	note(effects)

	times := flips.Downtime(history, from, to, pause)
	fmt.Printf("%d pings: up %v, down %v, unwatched %v\n", c.NPings, times.Up, times.Down, times.Unwatched)
	return nil
}
