package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// CreateKey creates an API key for the project and returns its text: 32 characters that begin with "rcw_" for
// [checks.ReadWrite], "rcr_" for [checks.ReadOnly], "rci_" for [checks.ReadIDs] or "rca_" for [checks.Admin]. The database
// stores only a hash of it. Error: *[checks.FieldError] for another scope,
// and for the field "project" when that has [checks.MaxKeys].
func (p *Project) CreateKey(ctx context.Context, scope checks.Scope) (text string, key checks.Key, err error) {
	text, key, err = p.admin.CreateKey(ctx, p.id, scope)
	return text, key, p.about(err)
}

// Keys returns the API keys of the project, oldest first, without their texts.
func (p *Project) Keys(ctx context.Context) ([]checks.Key, error) {
	list, err := p.admin.Keys(ctx, p.id)
	return list, p.about(err)
}

// DeleteKey revokes an API key of the project. A server of another process accepts it for up to 5 seconds more. Error:
// [checks.ErrNotFound].
func (p *Project) DeleteKey(ctx context.Context, id uuid.UUID) error {
	return about("key", id, p.admin.DeleteKey(ctx, p.id, id))
}
