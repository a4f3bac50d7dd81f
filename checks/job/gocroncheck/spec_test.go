package gocroncheck

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSpec compares the next runs of a scheduler's jobs with those that their checks expect.
func TestSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 15, 10, 20, 30, 0, time.UTC)))
		at := gocron.NewAtTimes(gocron.NewAtTime(6, 0, 0), gocron.NewAtTime(18, 45, 10))
		for name, test := range map[string]struct {
			job     gocron.JobDefinition
			timeout time.Duration // 0 for a schedule
		}{
			"crontab":        {gocron.CronJob("*/20 4,5 * * 1-5", false), 0},
			"seconds":        {gocron.CronJob("0 30 4 1 * *", true), 0},
			"a zone":         {gocron.CronJob("TZ=Asia/Tokyo 0 4 * * *", false), 0},
			"daily":          {gocron.DailyJob(1, at), 0},
			"every 3 days":   {gocron.DailyJob(3, at), 72 * time.Hour},
			"weekly":         {gocron.WeeklyJob(1, gocron.NewWeekdays(time.Monday, time.Saturday), at), 0},
			"every 2 weeks":  {gocron.WeeklyJob(2, gocron.NewWeekdays(time.Monday), at), 14 * 24 * time.Hour},
			"monthly":        {gocron.MonthlyJob(1, gocron.NewDaysOfTheMonth(1, 15, -1), at), 0},
			"every 2 months": {gocron.MonthlyJob(2, gocron.NewDaysOfTheMonth(1), at), 62 * 24 * time.Hour},
			"duration":       {gocron.DurationJob(36 * time.Hour), 36 * time.Hour},
			"a second":       {gocron.DurationJob(time.Second), time.Minute},
			"random":         {gocron.DurationRandomJob(time.Hour, 2*time.Hour), 2 * time.Hour},
		} {
			s, err := gocron.NewScheduler(gocron.WithLocation(time.UTC))
			must(t, err)
			j, err := s.NewJob(test.job, gocron.NewTask(func() {}))
			must(t, err)
			s.Start()
			spec, err := specOf(j.Schedule(), time.UTC)
			must(t, err)
			if test.timeout > 0 {
				if spec.Schedule != nil || *spec.Timeout != test.timeout {
					t.Errorf("%s: %+v", name, spec)
				}
			} else {
				parsed, err := schedule.Parse(*spec.Schedule)
				must(t, err)
				zone, err := schedule.LoadLocation(*spec.TZ)
				must(t, err)
				runs, err := j.NextRuns(20)
				must(t, err)
				next := time.Now()
				for _, run := range runs {
					if next = parsed.Next(next.In(zone)); !next.Equal(run) {
						t.Errorf("%s: %q is due at %v, and the job runs at %v", name, *spec.Schedule, next, run)
						break
					}
				}
			}
			must(t, s.Shutdown())
		}
		if _, err := specOf(gocron.OneTimeJobSchedule{}, time.UTC); err == nil {
			t.Error("a one-time job has a schedule")
		}
	})
}
