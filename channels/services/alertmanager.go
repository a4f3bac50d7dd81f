package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

const (
	// alertRefresh is how often an Alertmanager must get an alert again that stays open.
	alertRefresh = time.Minute
	// alertLifetime is how long an alert lasts that is not sent again: four times the interval, as Prometheus has it.
	alertLifetime = 4 * alertRefresh
	// alertSkew is how far the clock of an Alertmanager may lag behind. It would take a later end for the future.
	alertSkew = time.Minute
	// memberTimeout bounds the request to one member of a cluster, as Prometheus has it.
	memberTimeout = 10 * time.Second
	// maxMembers is the maximum number of members of a cluster.
	maxMembers = 10
	// maxLabels is the maximum length of the setting labels in bytes, so that an alert fits into channels.MaxIncident.
	maxLabels = 4000
)

func alertmanagerService() service {
	return service{
		info: channels.Type{
			Kind: "alertmanager", Title: "Prometheus Alertmanager", Category: channels.CategoryOnCall,
			Doc: "Sends an alert to a Prometheus Alertmanager, every minute while a check is down, and resolves it when the " +
				"check goes up again. Credentials are either username and password, or token.",
			Settings: []channels.Setting{
				address(required("url", "The http or https URL of the Alertmanager, without /api/v2; "+
					"for a cluster those of all members, at most 10, separated by commas.", checkMembers)),
				optional("username", "The user name for basic authentication.", user),
				notRequired(secret("password", "The password for basic authentication.", nil)),
				notRequired(secret("token", "The bearer token.", token)),
				labelsSetting(),
			},
			Check: tokenOrPassword,
		},
		incidents: true,
		refresh:   alertRefresh,
		send:      sendAlertmanager,
	}
}

func labelsSetting() channels.Setting {
	s := optional("labels", "More labels of the alert, one name=value a line, such as severity=critical. "+
		"alertname=... replaces RollcallCheckDown.", func(value string) error {
		_, err := parseLabels(value)
		return err
	})
	s.Lines = true
	return s
}

func checkMembers(value string) error {
	members := list(value)
	if len(members) == 0 || len(members) > maxMembers {
		return fmt.Errorf("is not a list of 1 to %d URLs", maxMembers)
	}
	for _, member := range members {
		if err := server(member); err != nil {
			return err
		}
	}
	return nil
}

// openAlert is what m.open remembers of the alert. Alertmanager knows an alert by its labels, so those of an open alert
// stay, whatever changes in the check or the channel.
type openAlert struct {
	Labels   map[string]string `json:"labels"`
	StartsAt time.Time         `json:"startsAt"`
}

// alert is the postableAlert of the API.
type alert struct {
	openAlert
	Annotations  map[string]string `json:"annotations"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// sendAlertmanager sends the alert to all members of the cluster at once. Members share what they have notified about,
// but not their alerts, so each of them needs the alert.
//
// A member that does not accept an alert that is new or resolved makes the attempt fail. From the second attempt on, one
// member is enough, like for Prometheus: the others get the alert at the next refresh, and what they miss ends by itself.
// So a dead member costs one retry for each alert, and stops none.
func sendAlertmanager(ctx context.Context, m *delivery) error {
	remembered := m.remembered()
	body, err := compact([]alert{m.alert(remembered)})
	if err != nil {
		return channels.Permanent(err)
	}
	open, err := compact(remembered)
	if err != nil || len(open) > channels.MaxIncident {
		return channels.Permanent(errors.New("the labels of the alert are too long"))
	}
	refreshed := m.open != "" && !m.isUp()
	members := list(m.settings["url"])
	if len(members) == 0 {
		return errors.New("the integration has no url")
	}
	errs := m.post(ctx, members, json.RawMessage(body))
	var accepted []string
	var failures []error
	for i, err := range errs {
		if err == nil {
			accepted = append(accepted, fmt.Sprintf("member %d", i+1))
			continue
		}
		_ = m.settle(string(open), err) // the alert may be open
		if len(members) > 1 {
			err = fmt.Errorf("member %d: %w", i+1, err)
		}
		failures = append(failures, err)
	}
	if len(failures) == 0 || len(accepted) > 0 && (refreshed || len(m.n.Done) > 0) {
		return m.settle(string(open), nil)
	}
	if len(accepted) > 0 && !m.isUp() {
		m.open = string(open)
	}
	return channels.Partial(joinErrors(failures), accepted...)
}

// joinErrors names all failures in one error. It is retried if one of them is.
func joinErrors(failures []error) error {
	first := max(0, slices.IndexFunc(failures, func(err error) bool { return !channels.IsPermanent(err) }))
	err := failures[first]
	for i, other := range failures {
		if i != first {
			err = fmt.Errorf("%w; %v", err, other)
		}
	}
	return err
}

// post sends a body to all members and returns an error for each.
func (m *delivery) post(ctx context.Context, members []string, body json.RawMessage) []error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	header := m.authorize(nil)
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, member := range members {
		wg.Go(func() {
			res, answer, err := m.fetch(ctx, request{url: join(member, "api", "v2", "alerts"), header: header, json: body})
			// Alertmanager answers with an empty body; a page to sign in is no success.
			if err == nil && (res.StatusCode != http.StatusOK || len(answer) > 0 && !json.Valid(answer)) {
				err = errAnswer
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errs
}

// remembered returns the labels and the start of the open alert, or else of a new one.
func (m *delivery) remembered() openAlert {
	var open openAlert
	if m.open != "" && json.Unmarshal([]byte(m.open), &open) == nil && len(open.Labels) > 0 {
		return open
	}
	return openAlert{Labels: m.labels(), StartsAt: m.n.At.UTC().Add(-m.n.DownFor)}
}

func (m *delivery) alert(remembered openAlert) alert {
	a := alert{
		openAlert:    remembered,
		Annotations:  map[string]string{"summary": m.title, "description": m.text},
		EndsAt:       m.now().UTC().Add(alertLifetime),
		GeneratorURL: m.n.Check.URL,
	}
	if !m.isUp() {
		return a
	}
	a.EndsAt = m.n.At.UTC()
	if latest := m.now().UTC().Add(-alertSkew); a.EndsAt.After(latest) {
		a.EndsAt = latest
	}
	if !a.StartsAt.Before(a.EndsAt) {
		a.StartsAt = a.EndsAt.Add(-time.Second)
	}
	return a
}

// labels returns the labels that identify a new alert:
//
//	alertname   RollcallCheckDown, unless the setting labels has another
//	check       the name of the check, or else its slug or its UUID
//	uuid, slug  of the check
//	project     the name of the project
//	tag_<tag>   "true", for every tag; _ replaces characters that are invalid in label names
//
// and those of the setting labels. Alertmanager treats an empty value as missing.
func (m *delivery) labels() map[string]string {
	c := m.n.Check
	labels := map[string]string{"alertname": "RollcallCheckDown", "check": message.Name(c), "uuid": c.ID.String()}
	for name, value := range map[string]string{"slug": c.Slug, "project": c.Project} {
		if value != "" {
			labels[name] = value
		}
	}
	invalid := regexp.MustCompile(`[^a-zA-Z0-9_]`)
	for tag := range strings.FieldsSeq(strings.Join(c.Tags, " ")) {
		labels["tag_"+invalid.ReplaceAllString(tag, "_")] = "true"
	}
	extra, _ := parseLabels(m.settings["labels"]) // Validate has checked them
	maps.Copy(labels, extra)
	return labels
}

// parseLabels parses lines of the form name=value, and skips empty lines.
func parseLabels(text string) (map[string]string, error) {
	if len(text) > maxLabels {
		return nil, fmt.Errorf("is too long: %d bytes, the maximum is %d", len(text), maxLabels)
	}
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	labels := make(map[string]string)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		_, twice := labels[key]
		switch {
		case !found:
			return nil, fmt.Errorf("has no = in line %d, write name=value", number)
		case !name.MatchString(key):
			return nil, fmt.Errorf("has an invalid name in line %d: letters, digits and _, no digit first", number)
		case key == "check" || key == "uuid" || key == "slug" || key == "project" || strings.HasPrefix(key, "tag_"):
			return nil, fmt.Errorf("uses a name in line %d that only Rollcall may set", number)
		case value == "":
			return nil, fmt.Errorf("has no value in line %d", number)
		case strings.ContainsFunc(value, unicode.IsControl):
			return nil, fmt.Errorf("has a control character in line %d", number)
		case twice:
			return nil, fmt.Errorf("repeats a name in line %d", number)
		}
		labels[key] = value
	}
	return labels, nil
}
