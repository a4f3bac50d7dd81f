package checks

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxStatusPages bounds the status pages of a project.
const MaxStatusPages = 100

// MaxStatusPageNames bounds the public names of a status page.
const MaxStatusPageNames = 500

var minOutage = Setting{Name: "min_outage", Zero: time.Duration(0), Max: int64(24 * time.Hour / time.Second)}

// MinOutageSetting describes [StatusPage.MinOutage] to those who read it.
func MinOutageSetting() Setting { return minOutage }

// Bounds of a status page. The texts are measured in characters.
const (
	MaxStatusPageSlug        = 100
	maxStatusPageTitle       = 100
	maxStatusPageDescription = 1_000
)

// StatusPage is a public page about some checks of a project. Anyone who knows its address can read it, without a key.
// It shows of each check its name, its state, and when that changed in the last 90 days.
type StatusPage struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	// Slug is the last part of the page's address: 1 to 100 of a–z, 0–9 and hyphen, unique in the installation.
	Slug string
	// Title is the heading of the page: 1 to 100 characters.
	Title string
	// Description is the text below the heading: up to 1,000 characters in any number of lines, "" for none.
	Description string
	// Tags select the checks that have any of them: up to 500 characters, with one blank between two. Without tags, the page shows
	// all checks of the project.
	Tags []string
	// Names are the public names of checks by their ID, up to 500 of 1 to 100 characters. The page shows any other check by its own
	// name. The ID of a check that the page does not show has no effect.
	Names map[uuid.UUID]string
	// MinOutage is how long an outage must last to be published: 0 to 24 hours in whole seconds, 0 for every outage. Until then,
	// and for good if it ends sooner, the check counts as up.
	MinOutage time.Duration
	CreatedAt time.Time
}

// Named returns the IDs of the checks with a public name, in their order.
func (p StatusPage) Named() []uuid.UUID {
	return slices.SortedFunc(maps.Keys(p.Names), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

var statusPageSlug = regexp.MustCompile(`^[a-z0-9-]{1,100}$`)

// ValidStatusPageSlug reports whether a text can be the slug of a status page: 1 to 100 of a–z, 0–9 and hyphen.
func ValidStatusPageSlug(slug string) bool { return statusPageSlug.MatchString(slug) }

// Shows reports whether the page shows a check with these settings, if the check is in the project of the page.
func (p StatusPage) Shows(s Settings) bool {
	if len(p.Tags) == 0 {
		return true
	}
	return slices.ContainsFunc(s.TagList(), func(tag string) bool { return slices.Contains(p.Tags, tag) })
}

// Normalize returns the page as it is stored: texts without white space at their ends, lines that end with "\n", each tag once, and
// no empty name. The error is a *[FieldError] for "slug", "title", "description", "tags", "names" or "min_outage".
func (p StatusPage) Normalize() (StatusPage, error) {
	p.Title = strings.TrimSpace(p.Title)
	p.Description = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(p.Description))
	switch {
	case p.Slug == "":
		return p, refuse("slug", "is empty")
	case len(p.Slug) > MaxStatusPageSlug:
		return p, refuse("slug", "is too long: %d characters, the maximum is %d", utf8.RuneCountInString(p.Slug), MaxStatusPageSlug)
	case !ValidStatusPageSlug(p.Slug):
		return p, refuse("slug", "may only have a-z, 0-9 and hyphen: %q", p.Slug)
	}
	if err := plainText("title", p.Title, maxStatusPageTitle, ""); err != nil {
		return p, err
	}
	if err := ValidateName("title", p.Title); err != nil {
		return p, err
	}
	if err := plainText("description", p.Description, maxStatusPageDescription, "\n\t"); err != nil {
		return p, err
	}
	if err := validText("tags", strings.Join(p.Tags, " "), maxTags); err != nil {
		return p, err
	}
	for _, tag := range p.Tags {
		if err := plainText("tags", tag, maxTags, ""); err != nil {
			return p, err
		}
		if strings.ContainsFunc(tag, unicode.IsSpace) {
			return p, refuse("tags", "has an item with a blank: %q", tag)
		}
	}
	p.Tags = Settings{Tags: p.Tags}.TagList()
	var err error
	if p.Names, err = publicNames(p.Names); err != nil {
		return p, err
	}
	return p, minOutage.validPeriod(p.MinOutage)
}

// publicNames returns names without white space at their ends, and without empty ones.
func publicNames(names map[uuid.UUID]string) (map[uuid.UUID]string, error) {
	if len(names) > MaxStatusPageNames {
		return nil, refuse("names", "has %d items, the maximum is %d", len(names), MaxStatusPageNames)
	}
	var kept map[uuid.UUID]string
	for _, id := range (StatusPage{Names: names}).Named() {
		name := strings.TrimSpace(names[id])
		if name == "" {
			continue
		}
		if err := cmp.Or(plainText("names", name, MaxName, ""), ValidateName("names", name)); err != nil {
			return nil, err
		}
		if kept == nil {
			kept = make(map[uuid.UUID]string, len(names))
		}
		kept[id] = name
	}
	return kept, nil
}

// plainText checks a text of up to limit characters without control characters, except some.
func plainText(field, value string, limit int, except string) error {
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(except, r) }
	if err := validText(field, value, int64(limit)); err != nil {
		return err
	}
	if strings.ContainsFunc(value, control) {
		return refuse(field, "has a control character")
	}
	return nil
}
