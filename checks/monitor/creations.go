package monitor

import "github.com/rollcall-dev/rollcall/checks/internal/admin"

// ErrCreatedChecks means that the pings of a project may not create another check; see [Config].MaxCreated.
var ErrCreatedChecks = admin.ErrCreatedChecks

// CreateRateError means that the pings of a project create checks too fast; see [Config].CreateRate. PerMinute is the
// limit, checks a minute, and RetryAfter how long to wait before the next one.
type CreateRateError = admin.CreateRateError
