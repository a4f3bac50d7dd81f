package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// MaxManifest bounds a file of manifests, in bytes.
const MaxManifest = 16 << 20

// maxDocument bounds a document in YAML, whose reader needs some hundred bytes for each value.
const maxDocument = 1 << 20

// Manifest is a file of Kubernetes manifests.
type Manifest struct {
	Name string // for what is left out
	Data []byte
	Err  error // why it could not be read, or nil
}

// Kubernetes returns the CronJobs of manifests: documents in YAML or JSON, and lists of them as kubectl prints them.
func Kubernetes(now time.Time, files ...Manifest) Found {
	r, seen := &reader{Machine: Machine{Now: now}}, make(map[string]bool)
	for _, file := range files {
		m := &manifests{reader: r, file: file.Name, bad: make(map[string]bool), seen: seen}
		switch {
		case file.Err != nil:
			m.leaveFile("unreadable", reason(file.Err))
			continue
		case len(file.Data) > MaxManifest:
			m.leaveFile("too-large", fmt.Sprintf("larger than %d MB", MaxManifest>>20))
			continue
		}
		if json.Valid(file.Data) {
			var doc any
			if json.Unmarshal(file.Data, &doc) == nil {
				m.object(doc, 0)
			}
			continue
		}
		for _, doc := range documents(file.Data) {
			m.yaml(doc)
		}
	}
	return r.finish()
}

// manifests reads one file.
type manifests struct {
	*reader
	file string
	bad  map[string]bool // reasons that stand in left_out already
	seen map[string]bool // CronJobs of all files
}

// leaveFile leaves out the file, once for each reason.
func (m *manifests) leaveFile(code, detail string) {
	if !m.bad[code] {
		m.bad[code] = true
		m.leave(m.file, code, detail)
	}
}

// documents splits a file as kubectl does: at lines that begin with --- and have nothing else.
func documents(data []byte) (list [][]byte) {
	var doc []byte
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && len(bytes.TrimSpace(rest)) == 0 {
			list, doc = append(list, doc), nil
			continue
		}
		doc = append(doc, line...)
	}
	return append(list, doc)
}

// yaml reads a document in YAML.
func (m *manifests) yaml(data []byte) {
	if !bytes.Contains(data, []byte("CronJob")) {
		return
	}
	if len(data) > maxDocument {
		m.leaveFile("too-large", fmt.Sprintf("a document is larger than %d MB; use JSON", maxDocument>>20))
		return
	}
	var doc any
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err == nil {
		err = loader.Load(&doc)
	}
	switch {
	case errors.Is(err, io.EOF):
	case err != nil && bytes.Contains(data, []byte("{{")):
		m.leaveFile("template", "render it first, as with helm template")
	case err != nil:
		m.leaveFile("bad-yaml", err.Error())
	default:
		m.object(doc, 0)
	}
}

// at returns a value in nested mappings, or nil.
func at(doc any, keys ...string) any {
	for _, key := range keys {
		m, _ := doc.(map[string]any)
		doc = m[key]
	}
	return doc
}

func textAt(doc any, keys ...string) string {
	text, _ := at(doc, keys...).(string)
	return text
}

// object reads an object: a CronJob, or a list of others.
func (m *manifests) object(doc any, depth int) {
	kind, version := textAt(doc, "kind"), textAt(doc, "apiVersion")
	items, _ := at(doc, "items").([]any)
	switch {
	case depth > maxDepth:
	case kind == "CronJobList":
		for _, item := range items {
			if object, ok := item.(map[string]any); ok { // the API leaves their kind out
				object["kind"], object["apiVersion"] = "CronJob", version
				m.object(object, depth+1)
			}
		}
	case kind == "List":
		for _, item := range items {
			m.object(item, depth+1)
		}
	case kind == "CronJob":
		m.cronJob(doc, version)
	}
}

// cronJob reads a CronJob.
func (m *manifests) cronJob(doc any, version string) {
	name, namespace := textAt(doc, "metadata", "name"), textAt(doc, "metadata", "namespace")
	source := name
	if namespace != "" {
		source = namespace + "/" + name
	}
	expr, isText := at(doc, "spec", "schedule").(string)
	suspended, _ := at(doc, "spec", "suspend").(bool)
	switch {
	case strings.Contains(source+expr, "{{"):
		m.leaveFile("template", "render it first, as with helm template")
		return
	case name == "":
		m.leaveFile("no-name", "a CronJob has no metadata.name")
		return
	case version != "batch/v1" && version != "batch/v1beta1":
		m.leave(source, "other-kind", "apiVersion "+version)
		return
	case suspended:
		m.leave(source, "suspended", "")
		return
	case !isText:
		m.leave(source, "bad-schedule", "the schedule is no string")
		return
	}
	if m.seen[source] {
		m.leave(source, "duplicate", source)
		return
	}
	m.seen[source] = true
	one := run{Job: Job{Source: source, SlugFrom: "namespace and name", Wrap: Wrap{Mode: None, Reason: "kubernetes"}}, name: name}
	if namespace != "" && namespace != "default" {
		one.name = namespace + "-" + name
	}
	if slug := textAt(doc, "metadata", "annotations", "rollcall/slug"); slug != "" && slugify(strings.ReplaceAll(slug, "_", "-")) != "" {
		one.Slug, one.SlugFrom = cleanSlug(slug), annotation
	}
	if detail, code := m.times(&one, doc, expr); code != "" {
		m.leave(source, code, detail)
		return
	}
	m.container(&one, doc)
	m.add(one)
}

// cleanSlug returns an annotation if it is a slug, else one made of it.
func cleanSlug(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && len(text) <= 100 {
		return text
	}
	return cut(slugify(text), maxName)
}

// times sets the schedule, the zone and the limits. It returns why no check can watch the job.
func (m *manifests) times(one *run, doc any, expr string) (detail, code string) {
	s, err := parseRobfig(expr)
	if err != nil {
		return err.Error(), "bad-schedule"
	}
	zone := at(doc, "spec", "timeZone")
	name, isText := zone.(string)
	one.TZ = "UTC"
	switch {
	case zone != nil && (!isText || !knownZone(name) || s.zone != ""):
		return fmt.Sprintf("Kubernetes refuses timeZone %v", zone), "bad-schedule"
	case zone != nil:
		one.TZ = name
	case s.zone != "":
		one.TZ = s.zone
		one.warn("zone-in-schedule")
	case s.every == 0:
		one.warn("zone-assumed")
	}
	if s.every > 0 {
		one.TZ, one.Timeout, one.Warnings = "", int64(s.every/time.Second), nil
	} else {
		if detail := s.spec.settle(); detail != "" {
			return detail, "never"
		}
		one.Schedule = s.spec.String()
	}
	if n := seconds(at(doc, "spec", "startingDeadlineSeconds")); n > 0 {
		one.delays = append(one.delays, delay{n, "startingDeadlineSeconds"})
	}
	job := at(doc, "spec", "jobTemplate", "spec")
	for _, value := range []any{at(job, "activeDeadlineSeconds"), at(job, "template", "spec", "activeDeadlineSeconds")} {
		if n := int64(seconds(value) / time.Second); n > 0 && (one.MaxRuntime == 0 || n < one.MaxRuntime) {
			one.MaxRuntime = n
		}
	}
	return "", ""
}

// seconds reads a number of seconds of a document.
func seconds(value any) time.Duration {
	var n float64
	switch v := value.(type) {
	case int:
		n = float64(v)
	case float64:
		n = v
	default:
		return 0
	}
	if n < 0 || n > maxTime.Seconds() {
		return 0
	}
	return time.Duration(n) * time.Second
}

// container sets the command of the first container, and whether any reports already.
func (m *manifests) container(one *run, doc any) {
	pod := at(doc, "spec", "jobTemplate", "spec", "template", "spec")
	list, _ := at(pod, "containers").([]any)
	for i, container := range list {
		var words []string
		for _, key := range []string{"command", "args"} {
			values, _ := at(container, key).([]any)
			for _, value := range values {
				words = append(words, fmt.Sprint(value))
			}
		}
		command := strings.Join(words, " ")
		if i == 0 {
			one.Command = command
		}
		if one.Reports == "" {
			one.Reports = serviceOf(command)
		}
		if slug := slugOf(command); slug != "" && one.SlugFrom != annotation {
			one.Slug, one.SlugFrom = slug, wrappedLine
		}
	}
}
