package discover

import "github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/wrap"

// unwrap returns the command that stood in a line of a crontab before Rollcall wrapped it, and the slug. Text is the command of the
// line as the file has it, before cron decodes it. A line that is not wrapped returns itself.
func unwrap(text string) (command, slug string, ok bool) {
	restored, slug, ok := wrap.Unwrap([]byte(text))
	return string(restored), slug, ok
}
