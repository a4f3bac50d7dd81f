package main

import "time"

// ending is what a job does at the end of the history.
type ending int

const (
	runs    ending = iota
	stopped        // its last run was missed, and its grace time has passed
	late           // its last run is late, within its grace time
	failed         // its last run failed
	unused         // it has never run
	paused         // nobody waits for it
)

// job is a job of the made-up company, and the check that watches it.
type job struct {
	name, tags, desc string
	schedule, zone   string        // cron or OnCalendar
	every            time.Duration // the period of a job without a schedule
	grace            time.Duration
	takes            time.Duration // the usual duration; 0 for a job that reports no start
	spread           float64       // how far durations are from it: the deviation of their logarithm
	grows            float64       // by how much durations have grown at the end
	fails            float64       // the chance that a run fails
	output           output
	agent            string
	age              time.Duration // how old the check is, if it is younger than the history
	alertAfter       int
	quiet            string
	after            string // the jobs that it follows
	recordOnly       bool
	channels         string // default: all
	ending           ending
}

const (
	curl    = "curl/8.5.0"
	wrapper = "rollcall/1.0"
	library = "Go-http-client/2.0"
	mail    = "e-mail"
	day     = 24 * time.Hour
)

// company lists the jobs.
func company() []job {
	return []job{
		{name: "nightly-backup", tags: "prod db", desc: "Copies the volumes of db-1 to the second site.", schedule: "0 3 * * *", zone: "Europe/Riga", grace: 90 * time.Minute,
			takes: 41 * time.Minute, spread: .09, grows: .35, fails: .02, output: backup, agent: wrapper, ending: stopped},
		{name: "orders-export", tags: "prod", schedule: "15 */2 * * *", zone: "Europe/Riga", grace: 150 * time.Minute,
			takes: 9 * time.Minute, spread: .25, fails: .004, output: export, agent: curl, ending: late},
		{name: "search-reindex", tags: "web", schedule: "0 */6 * * *", zone: "UTC", grace: 2 * time.Hour,
			takes: 55 * time.Minute, spread: .2, fails: .02, output: build, agent: wrapper, ending: failed},
		{name: "certbot-renew", tags: "infra", schedule: "40 0,12 * * *", zone: "UTC", grace: time.Hour,
			takes: 48 * time.Second, spread: .3, output: plain, agent: curl},
		{name: "etl-warehouse", tags: "data", desc: "Loads the events of the day before into the warehouse.", schedule: "30 1 * * MON-FRI", zone: "Europe/Riga", grace: 4 * time.Hour,
			takes: 130 * time.Minute, spread: .15, fails: .03, output: export, agent: library},
		{name: "ledger-close", tags: "finance prod", desc: "Closes the books of the day. Finance must know before 09:00 if it failed.", schedule: "55 23 * * *", zone: "Europe/Riga", grace: 45 * time.Minute,
			takes: 22 * time.Minute, spread: .12, fails: .01, output: plain, agent: library},
		{name: "mail-queue", tags: "prod", every: 30 * time.Minute, grace: 10 * time.Minute,
			takes: 110 * time.Second, spread: .3, fails: .0008, output: plain, agent: curl, age: 25 * day},
		{name: "pg-basebackup", tags: "db", schedule: "0 2 * * SUN", zone: "Europe/Riga", grace: 3 * time.Hour,
			takes: 75 * time.Minute, spread: .1, grows: .2, output: backup, agent: wrapper},
		{name: "sitemap", tags: "web", schedule: "0 * * * *", zone: "UTC", grace: 15 * time.Minute, after: "search-reindex",
			takes: 3 * time.Minute, spread: .4, fails: .001, output: build, agent: wrapper},
		{name: "invoice-mail", tags: "finance", schedule: "0 7 * * MON-FRI", zone: "Europe/Riga", grace: 30 * time.Minute,
			takes: 12 * time.Minute, spread: .25, fails: .02, output: plain, agent: mail},
		{name: "restore-drill", tags: "db", desc: "Restores the newest backup on a spare machine and counts rows.", schedule: "0 5 1 * *", zone: "Europe/Riga", grace: 2 * time.Hour,
			age: 6 * day, after: "nightly-backup,pg-basebackup", ending: unused},
		{name: "legacy-sync", tags: "old", every: time.Hour, grace: 20 * time.Minute, takes: 4 * time.Minute, spread: .3, fails: .006, output: plain, agent: curl, ending: paused},
		{name: "k8s-gc", tags: "infra", schedule: "20 4 * * *", zone: "UTC", grace: 30 * time.Minute, takes: 6 * time.Minute, spread: .3, output: plain, agent: curl},
		{name: "metrics-rollup", tags: "data", every: 15 * time.Minute, grace: 5 * time.Minute, spread: .3, fails: .0004, agent: library, age: 20 * day},
		{name: "wal-archive", tags: "db prod", every: 10 * time.Minute, grace: 5 * time.Minute, agent: curl, age: 9 * day},
		{name: "dns-zone-check", tags: "infra web", every: time.Hour, grace: 10 * time.Minute, fails: .001, output: plain, agent: curl, alertAfter: 2},
		{name: "currency-rates", tags: "finance", schedule: "5 16 * * MON-FRI", zone: "Europe/Berlin", grace: 20 * time.Minute, fails: .03, output: plain, agent: library, recordOnly: true},
		{name: "payroll-run", tags: "finance", desc: "Needs two people: see the page of the finance team.", schedule: "0 10 25 * *", zone: "Europe/Riga", grace: 4 * time.Hour,
			takes: 34 * time.Minute, spread: .1, output: plain, agent: mail},
		{name: "log-rotation", tags: "infra", schedule: "10 0 * * *", zone: "Europe/Riga", grace: time.Hour, takes: 90 * time.Second, spread: .4, output: plain, agent: curl},
		{name: "snapshot-eu", tags: "db infra", schedule: "45 */4 * * *", zone: "UTC", grace: 30 * time.Minute, takes: 14 * time.Minute, spread: .2, fails: .004, output: backup, agent: wrapper},
		{name: "snapshot-us", tags: "db infra", schedule: "45 1-23/4 * * *", zone: "America/New_York", grace: 30 * time.Minute, takes: 17 * time.Minute, spread: .2, fails: .004, output: backup, agent: wrapper},
		{name: "ci-cache-prune", tags: "ci", schedule: "30 5 * * *", zone: "Europe/Riga", grace: 2 * time.Hour, takes: 7 * time.Minute, spread: .5, output: build, agent: wrapper},
		{name: "nightly-tests", tags: "ci", desc: "The slow half of the test suite.", schedule: "30 2 * * *", zone: "Europe/Riga", grace: 2 * time.Hour,
			takes: 68 * time.Minute, spread: .08, fails: .06, output: build, agent: wrapper, channels: "chat", quiet: "20:00-07:00; Sat,Sun 00:00-24:00"},
		{name: "staging-refresh", tags: "ci db", schedule: "Mon,Thu *-*-* 06:00:00", zone: "Europe/Riga", grace: 2 * time.Hour, takes: 52 * time.Minute, spread: .2, fails: .05,
			output: export, agent: wrapper, channels: "chat"},
		{name: "newsletter", tags: "web", schedule: "0 9 * * TUE", zone: "Europe/Riga", grace: time.Hour, takes: 25 * time.Minute, spread: .2, output: plain, agent: mail},
		{name: "stock-import", tags: "prod", schedule: "20 5-21 * * *", zone: "Europe/Riga", grace: 20 * time.Minute, takes: 5 * time.Minute, spread: .35, fails: .003, output: export, agent: library},
		{name: "fraud-model", tags: "data", schedule: "0 4 * * SAT", zone: "Europe/Riga", grace: 7 * time.Hour, takes: 190 * time.Minute, spread: .15, grows: .25, fails: .04, output: build, agent: library},
		{name: "image-thumbnails", tags: "web", every: time.Hour, grace: 30 * time.Minute, takes: 8 * time.Minute, spread: .35, output: plain, agent: curl, age: 31 * day},
		{name: "license-report", tags: "finance", schedule: "*-*~01 18:00:00", zone: "Europe/Riga", grace: 6 * time.Hour, takes: 3 * time.Minute, spread: .2, output: plain, agent: mail},
		{name: "uptime-probe-fra", tags: "infra prod", every: 20 * time.Minute, grace: 5 * time.Minute, fails: .0006, output: plain, agent: curl, age: 13 * day},
	}
}

// outage is a time in which the jobs with a tag do not run, counted from the end of the history.
type outage struct {
	tag        string
	begin, end time.Duration
}

var outages = []outage{
	{"db", 37*day + 9*time.Hour, 37*day + 3*time.Hour},    // the database server was moved
	{"infra", 12*day + 5*time.Hour, 12*day + 4*time.Hour}, // a fiber was cut
}
