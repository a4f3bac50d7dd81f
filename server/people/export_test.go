package people

import (
	"cmp"
	"context"
)

// Verify reports whether a hash can be read and is that of a password, and whether a sign-in replaces it.
func Verify(hash, password string) (ok, replace bool) {
	parsed, err := parseHash(hash)
	return err == nil && parsed.matches(password), err == nil && !parsed.own()
}

// Buckets returns how many counts of failed attempts are kept.
func (p *People) Buckets() int {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	return len(p.limits.buckets)
}

// Weak reports whether a password is refused as easy to guess.
var Weak = weak

// Tend looks through all people once, as Run does each hour.
func (p *People) Tend(ctx context.Context) error {
	return cmp.Or(p.sealAll(ctx), p.forgetProjects(ctx))
}
