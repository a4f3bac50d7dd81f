package sqlstore

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// Instants are stored as microseconds since 1970, the zero time as NULL.

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// statuses lists the states of checks. The database stores the index, see code.
var statuses = [...]checks.Status{checks.StatusNew, checks.StatusUp, checks.StatusDown, checks.StatusPaused}

// kinds lists the kinds of pings. The database stores the index, see code.
var kinds = [...]pings.Kind{pings.Success, pings.Start, pings.Fail, pings.Log, pings.Ignored}

func decode[T comparable](list []T, i int64) (v T, err error) {
	if i < 0 || i >= int64(len(list)) {
		return v, fmt.Errorf("sqlstore: a row has the unknown code %d: is it from a newer version of Rollcall?", i)
	}
	return list[i], nil
}
