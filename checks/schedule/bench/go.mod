module github.com/rollcall-dev/rollcall/checks/schedule/bench

go 1.26.8

require (
	github.com/adhocore/gronx v1.20.4
	github.com/robfig/cron/v3 v3.0.1
	github.com/rollcall-dev/rollcall v0.0.0
)

replace github.com/rollcall-dev/rollcall => ../../..
