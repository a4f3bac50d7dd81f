package server

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// This file holds all that versions 1 and 2 of the management interface do otherwise than version 3. Clients with an older
// version fixed in their code depend on them. The versions differ as those of Healthchecks do:
//
//   - version 1 has the status "started" during a run;
//   - both have the fields of Healthchecks: started is true during a run, last_duration, subject and subject_fail;
//   - both make the slug from the name when a request has a name and no slug;
//   - both take the settings subject and subject_fail;
//   - flips are an object with a list, and the addresses in documents have the version of the request.

// current is the version of the management interface that the specification describes.
const current = 3

// roots are the paths of the versions below Config.BaseURL.
var roots = [...]string{1: "/api/v1", 2: "/api/v2", current: "/api/v3"}

// versions returns the versions of the management interface that the server answers.
func (s *Server) versions() []int {
	if s.noLegacy {
		return []int{current}
	}
	return []int{1, 2, current}
}

func endpointsOf(version int) []endpoint {
	list := endpoints()
	if version == current {
		return list
	}
	list = slices.DeleteFunc(list, func(e endpoint) bool { return e.added })
	for i, e := range list {
		list[i].path = roots[version] + strings.TrimPrefix(e.path, roots[current])
	}
	return list
}

// legacyCheck is a check in versions 1 and 2.
type legacyCheck struct {
	*wire.Check
	LastDuration *int64 `json:"last_duration,omitempty"` // of the last run, in seconds, if it is known
}

// inVersion returns the document of a check in the version of the request.
func (c *call) inVersion(d *wire.Check, check checks.Snapshot) any {
	if c.version == current {
		return d
	}
	legacy := legacyCheck{Check: d}
	if legacy.Started = check.Started; legacy.Started && c.version == 1 {
		legacy.Status = "started"
	}
	legacy.Subject, legacy.SubjectFail = new(string), new(string)
	if check.FilterSubject {
		legacy.Subject, legacy.SubjectFail = &check.SuccessKW, &check.FailureKW
	}
	for _, run := range slices.Backward(check.Check.History.Recent.Runs()) {
		if run.Result == checks.RunMissed { // no ping has ended it
			continue
		}
		if run.Duration > 0 {
			legacy.LastDuration = new(int64(run.Duration / time.Second))
		}
		break
	}
	return legacy
}

// settings returns the settings of a request that creates or updates a check. before is the check to update, or the zero
// value.
func (c *call) settings(spec checks.Spec, body request.Body, before checks.Check) (checks.Spec, error) {
	if c.version == current {
		return spec, nil
	}
	if spec.Name != nil && spec.Slug == nil {
		spec.Slug = new(slugOf(*spec.Name))
	}
	filter := spec.FilterSubject
	success, failure := before.SuccessKW, before.FailureKW
	for _, f := range []struct {
		name    string
		before  *string
		setting **string
	}{{"subject", &success, &spec.SuccessKW}, {"subject_fail", &failure, &spec.FailureKW}} {
		text, err := body.Text(f.name)
		if err != nil {
			return spec, err
		}
		if text == nil {
			continue
		}
		if err := (checks.Spec{SuccessKW: text}).Validate(c.mon.Now()); err != nil {
			if refused, ok := errors.AsType[*checks.FieldError](err); ok {
				err = &checks.FieldError{Field: f.name, Reason: refused.Reason}
			}
			return spec, err
		}
		*f.before = *text
		if *f.setting == nil {
			*f.setting = text
		}
		if filter == nil {
			spec.FilterSubject = new(success+failure != "")
		}
	}
	return spec, nil
}

// unique returns the fields by which a request that creates a check first looks for one. A slug that is made from the name
// is not a field of the request, and finds none.
func (c *call) unique(request request.CheckCreate) []checks.UniqueField {
	if c.version != current && request.Slug == nil && slices.Contains(request.Unique, checks.UniqueSlug) {
		return nil
	}
	return request.Unique
}

// refit corrects filter_subject of a check that a request has found and updated. Its keywords were not known before.
func (c *call) refit(check checks.Snapshot, request checks.Spec, body request.Body) (checks.Snapshot, error) {
	spec, err := c.settings(request, body, *check.Check)
	if err != nil || spec.FilterSubject == nil || *spec.FilterSubject == check.FilterSubject {
		return check, err
	}
	return c.mon.Project(c.key.ProjectID).Update(c.r.Context(), check.ID, checks.Spec{FilterSubject: spec.FilterSubject})
}

// slugOf makes a slug from a name: "Nightly Backup (Zürich)" becomes "nightly-backup-zurich". It drops what is neither a
// letter of ASCII nor a digit, without an accent, and has no word for signs.
func slugOf(name string) string {
	ascii := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(norm.NFKD.String(name)))
	slug := strings.Trim(regexp.MustCompile(`[- ]+`).ReplaceAllString(ascii, "-"), "-_")
	return slug[:min(len(slug), checks.MaxSlug)]
}

// flipList is the document of flips as an object.
type flipList struct {
	Flips []wire.Flip `json:"flips"`
}

// answerFlips answers with flips, as an object where the version or the configuration wants one.
func (c *call) answerFlips(list []wire.Flip) error {
	if c.version != current || c.flipsObject {
		return c.answer(http.StatusOK, flipList{list})
	}
	return c.answer(http.StatusOK, list)
}
