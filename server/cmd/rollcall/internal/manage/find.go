package manage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// checkArg is the argument of commands about one check.
type checkArg struct {
	Check string `arg:"" completion:"check" help:"Slug of the check, its name, its UUID, or its ping URL."`
}

// checkName is how a command line names a check: by its UUID, by its slug, or by a ping URL with the one or the other.
type checkName struct {
	text string
	id   uuid.UUID // zero for a slug
	path []string  // of a ping URL
}

// readCheckName reads the name of a check.
func readCheckName(text string) (checkName, error) {
	name := checkName{text: text}
	if !strings.Contains(text, "://") {
		name.id, _ = console.ParseUUID(text)
		return name, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return name, console.Usagef("%q is not a ping URL", text)
	}
	name.path = strings.Split(strings.Trim(u.Path, "/"), "/")
	for _, segment := range name.path {
		if id, ok := console.ParseUUID(segment); ok {
			name.id = id
			return name, nil
		}
	}
	return name, nil
}

// slug returns the slug of the name in a project.
func (n checkName) slug(p project) (string, error) {
	if n.path == nil {
		return n.text, nil
	}
	if p.PingKey == "" {
		return "", console.Usagef("the server shows the ping key of a project only to admin keys; name the check by its slug or its UUID")
	}
	if i := slices.Index(n.path, p.PingKey); i >= 0 && i+1 < len(n.path) {
		return n.path[i+1], nil
	}
	return "", fmt.Errorf("%q is not a ping URL of the project %q; it may be one of another project or server", n.text, p.Name)
}

// check returns the check of the project that a text names: by its UUID or ping URL, by its slug, or by its name, if no other check has
// it. A slug may look like a UUID. The key must show UUIDs.
func (p project) check(ctx context.Context, text string) (checks.Snapshot, error) {
	c, err := p.lookUp(ctx, text)
	if err == nil && c.ID == uuid.Nil {
		err = errReadOnly
	}
	return c, err
}

// lookUp returns the check that a text names, without its UUID for a read-only key.
func (p project) lookUp(ctx context.Context, text string) (checks.Snapshot, error) {
	name, err := readCheckName(text)
	if err != nil {
		return checks.Snapshot{}, err
	}
	if name.id != uuid.Nil {
		c, err := p.Check(ctx, name.id)
		other, answered := errors.AsType[*client.Error](err) // a check of another project
		if !errors.Is(err, checks.ErrNotFound) && (!answered || other.StatusCode != http.StatusForbidden) {
			return c, err
		}
		if name.path != nil {
			return c, fmt.Errorf("no check of the project has the ping URL %q; it may be one of another project or server", text)
		}
	}
	slug, err := name.slug(p)
	if err != nil {
		return checks.Snapshot{}, err
	}
	list, err := p.Checks(ctx, checks.Query{Slug: slug})
	if err == nil && (len(list) == 0 || slug == "") {
		list, err = p.namedChecks(ctx, name)
	}
	switch {
	case err != nil:
		return checks.Snapshot{}, err
	case len(list) > 1 && list[0].ID == uuid.Nil:
		return checks.Snapshot{}, errReadOnly
	case len(list) > 1:
		return checks.Snapshot{}, severalChecks(list, text)
	}
	return list[0], nil
}

// namedChecks returns the checks with a name, at least one.
func (p project) namedChecks(ctx context.Context, name checkName) (found []checks.Snapshot, err error) {
	list, err := p.Checks(ctx, checks.Query{})
	if err != nil {
		return nil, err
	}
	var known []string
	for _, c := range list {
		if c.Name == name.text && name.text != "" {
			found = append(found, c)
		}
		known = append(known, c.Slug, c.Name)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("check %q does not exist%s", name.text, didYouMean(name.text, known))
	}
	return found, nil
}

// severalChecks returns the error of a slug or a name that several checks have.
func severalChecks(list []checks.Snapshot, text string) error {
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID.String())
	}
	what := "slug"
	if list[0].Slug != text {
		what = "name"
	}
	return fmt.Errorf("%d checks have the %s %q; give the UUID of one: %s", len(list), what, text, strings.Join(ids, ", "))
}

// tagged returns the checks with all of the tags. A tag that no check has is an error.
func (p project) tagged(ctx context.Context, tags []string) ([]checks.Snapshot, error) {
	list, err := p.Checks(ctx, checks.Query{Tags: tags})
	if err != nil || len(list) > 0 || len(tags) == 0 {
		return list, err
	}
	tag, similar, err := p.unknownTag(ctx, tags)
	switch {
	case err != nil, tag == "":
		return list, err
	case similar != "":
		return list, fmt.Errorf("--tag: no check has the tag %q; did you mean %q?", tag, similar)
	}
	return list, fmt.Errorf("--tag: no check has the tag %q", tag)
}

// unknownTag returns the first tag that no check of the project has, or "", and a similar one that a check has.
func (p project) unknownTag(ctx context.Context, tags []string) (unknown, similar string, err error) {
	if len(tags) == 0 {
		return "", "", nil
	}
	list, err := p.Checks(ctx, checks.Query{})
	if err != nil {
		return "", "", err
	}
	var known []string
	for _, c := range list {
		known = append(known, c.TagList()...)
	}
	i := slices.IndexFunc(tags, func(tag string) bool { return !slices.Contains(known, tag) })
	if i < 0 {
		return "", "", nil
	}
	return tags[i], prose.Similar(tags[i], slices.Values(known)), nil
}

// errReadOnly is the error of a key that does not show UUIDs.
var errReadOnly = errors.New("the API key is read-only, a read-write or admin key is needed")

// channel returns the integration of the project that a text names, by its id or its name. Several with that name are an error.
func (p project) channel(ctx context.Context, text string) (channels.Channel, error) {
	list, err := p.Channels(ctx)
	if err != nil {
		return channels.Channel{}, err
	}
	var named []channels.Channel
	for _, channel := range list {
		if channel.ID.String() == strings.ToLower(text) {
			return channel, nil
		}
		if channel.Name == text && text != "" {
			named = append(named, channel)
		}
	}
	switch len(named) {
	case 0:
		names := make([]string, len(list))
		for i, c := range list {
			names[i] = c.Name
		}
		return channels.Channel{}, fmt.Errorf("integration %q does not exist%s", text, didYouMean(text, names))
	case 1:
		return named[0], nil
	}
	return channels.Channel{}, fmt.Errorf("%d integrations have the name %q; use the id", len(named), text)
}
