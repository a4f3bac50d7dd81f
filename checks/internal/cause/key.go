package cause

import (
	"regexp"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

// conditions are the causes that any program can report, as people say them, with other words for them. Those that explain
// others are first.
var conditions = []struct {
	name  string
	words []string
}{
	{"No space left on device", []string{"no space left", "enospc", "disk is full", "disk full", "not enough space on the disk", "not enough disk space"}},
	{"Disk quota exceeded", []string{"disk quota exceeded", "edquot"}},
	{"Read-only file system", []string{"read-only file system", "erofs"}},
	{"Input/output error", []string{"input/output error"}},
	{"Out of memory", []string{"out of memory", "cannot allocate memory", "oom-kill", "oom killer", "outofmemoryerror", "std::bad_alloc"}},
	{"Too many open files", []string{"too many open files", "emfile"}},
	{"Connection refused", []string{"connection refused", "econnrefused"}},
	{"Connection reset", []string{"connection reset", "econnreset", "connection closed by remote"}},
	{"No route to host", []string{"no route to host", "network is unreachable", "ehostunreach", "enetunreach"}},
	{"Host not found", []string{"could not resolve host", "couldn't resolve host", "name or service not known", "no such host",
		"temporary failure in name resolution", "could not translate host name", "nodename nor servname", "enotfound", "unknown host"}},
	{"Timed out", []string{"timed out", "deadline exceeded", "etimedout", "timeout expired", "timeout exceeded"}},
	{"Certificate not valid", []string{"certificate has expired", "certificate verify failed", "certificate signed by unknown", "certificate is not", "self-signed certificate", "self signed certificate"}},
	{"Host key verification failed", []string{"host key verification failed"}},
	{"Authentication failed", []string{"authentication failed", "permission denied (publickey", "invalid password", "401 unauthorized"}},
	{"Permission denied", []string{"permission denied", "access denied", "accessdenied", "operation not permitted", "eacces", "403 forbidden"}},
	{"Command not found", []string{"command not found", "executable file not found"}},
	{"No such file or directory", []string{"no such file or directory", "enoent", "filenotfound"}},
	{"Killed", []string{"killed"}},
}

func conditionPhrases() (list []string) {
	for _, c := range conditions {
		list = append(list, c.words...)
	}
	return list
}

// The parts of a line that differ between failures with a like cause, and what stands for them.
var differing = []struct {
	form *regexp.Regexp
	sign string
}{
	{regexp.MustCompile(`\b[a-z]+://[^\s"'<>]+`), "URL"},
	{regexp.MustCompile(`[\w.+-]+@[\w.-]+`), "address"},
	{regexp.MustCompile(`\b\d{4}[-/.]\d\d[-/.]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?\b`), "date"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`), "time"},
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "id"},
	{regexp.MustCompile(`(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.~@%+-]*`), "path"},
	{regexp.MustCompile(`\b(?:0x[0-9a-fA-F]+|[0-9a-fA-F]*[0-9][0-9a-fA-F]{6,})\b`), "id"},
	{regexp.MustCompile(`\d+(?:[.,:]\d+)*`), "N"},
	{regexp.MustCompile(`"[^"]*"|'[^']*'|“[^”]*”`), "…"},
}

// Key returns what failures with a like cause share, for a line that [Line] returned: a well-known condition, such as "No
// space left on device", however a program words it and whatever file it is about; or else the line without times, numbers,
// paths, addresses and quoted names. Lines with the same key belong together. The key is fit to be shown only if it is
// such a condition, which known reports. The key of "" is "".
func Key(line string) (key string, known bool) {
	line = prose.Line(line, maxBytes)
	lower := strings.ToLower(line)
	for _, c := range conditions {
		if containsAny(lower, c.words) {
			return c.name, true
		}
	}
	for _, d := range differing {
		line = d.form.ReplaceAllString(line, d.sign)
	}
	return strings.ToLower(line), false
}
