package discover

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// robfigSchedule is a schedule of Kubernetes, whose parser is github.com/robfig/cron.
type robfigSchedule struct {
	spec  cronSpec
	every time.Duration // of @every, else 0
	zone  string        // of TZ= or CRON_TZ= in front
}

// parseRobfig reads a schedule.
func parseRobfig(text string) (s robfigSchedule, err error) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		zone, rest, ok := strings.Cut(text[strings.Index(text, "=")+1:], " ")
		if !ok || !knownZone(zone) {
			return s, fmt.Errorf("unknown time zone %q", zone)
		}
		s.zone, text = zone, strings.TrimSpace(rest)
	}
	if period, ok := strings.CutPrefix(text, "@every "); ok {
		d, err := time.ParseDuration(period)
		if err != nil {
			return s, fmt.Errorf("%q is no duration", period)
		}
		s.every = max(d.Truncate(time.Second), time.Second)
		return s, nil
	}
	if strings.HasPrefix(text, "@") {
		if text, err = macro(text); err != nil {
			return s, err
		}
	}
	fields := strings.Fields(text)
	if len(fields) != len(cronRanges) {
		return s, fmt.Errorf("it has %d fields, Kubernetes takes 5", len(fields))
	}
	for i, r := range cronRanges {
		if s.spec.fields[i], err = robfigField(r, fields[i]); err != nil {
			return s, fmt.Errorf("bad %s: %w", r.name, err)
		}
	}
	s.spec.byStars()
	return s, nil
}

func macro(word string) (string, error) {
	if fields, ok := macros[word]; ok {
		return fields, nil
	}
	return "", fmt.Errorf("Kubernetes does not know %s", word)
}

// robfigField reads a field. Empty terms count for nothing, and a single number with a step goes on to the end of the field.
func robfigField(r *cronRange, text string) (f cronField, err error) {
	hi := r.hi
	if r == cronRanges[weekdayField] {
		hi = 6
	}
	for term := range strings.SplitSeq(text, ",") {
		if term == "" {
			continue
		}
		if err := f.robfigTerm(r, term, hi); err != nil {
			return f, err
		}
	}
	if f.wording(r, strings.ReplaceAll(text, "?", "*")); f.star {
		f.text = "*" // wherever in the list it stands
	}
	return f, nil
}

func (f *cronField) robfigTerm(r *cronRange, term string, most int) error {
	base, stepText, stepped := strings.Cut(term, "/")
	first, last, isRange := strings.Cut(base, "-")
	lo, hi, step, star := r.lo, most, 1, first == "*" || first == "?"
	var err error
	if !star {
		if lo, err = robfigNumber(r, first); err != nil {
			return err
		}
		if hi = lo; isRange {
			if hi, err = robfigNumber(r, last); err != nil {
				return err
			}
		}
	}
	if stepped {
		if step, err = robfigNumber(nil, stepText); err != nil || step == 0 {
			return errors.New("bad step")
		}
		if !isRange {
			hi = most
		}
	}
	if lo < r.lo || hi > most || lo > hi {
		return fmt.Errorf("%s is not in %d-%d", term, r.lo, most)
	}
	f.star = f.star || star && step == 1
	return f.add(r, lo, hi, step)
}

// robfigNumber reads a name of a field or a number.
func robfigNumber(r *cronRange, text string) (int, error) {
	if r != nil {
		if n, ok := r.value(text); ok && !isDigit(text[0]) {
			return n, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return n, nil
}
