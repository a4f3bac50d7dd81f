package limit

import (
	"context"
	"net/http"
	"time"
)

// AnswerTime bounds how long a request may be worked on. It ends before the minute after which most proxies give up, so that the
// client gets an answer that says so.
const AnswerTime = 50 * time.Second

// Detach returns a request whose context ends by this bound and not with the connection. The context of net/http ends as soon as
// the client closes its writing side, but such a client may still read, as probes by nc do. The caller calls cancel.
func Detach(r *http.Request) (detached *http.Request, cancel context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), AnswerTime)
	return r.WithContext(ctx), cancel
}
