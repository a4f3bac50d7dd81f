package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Setting describes one setting of a check to those who read, write and show it.
type Setting struct {
	// Name is that of its field in documents, files and forms, such as "max_runtime".
	Name string
	// Zero is the zero value of the type of its values: a string, bool, int, []string, or a time.Duration of whole seconds.
	Zero any
	// Min and Max bound a count, or the seconds of a period. Max also bounds the characters of a text; 0 is no bound.
	Min, Max int64
	// Optional says that a period may also be 0, for none. Of a count it says that 0 means the same as 1.
	Optional bool
	// Example is a value that is allowed and is not the default, in the type of Zero.
	Example any
	// Separator stands between the items of a text that is a list; it is "" for other texts.
	Separator string

	value    func(*Spec) any
	set      func(*Spec, any)
	validate func(*Spec, time.Time) error
	assign   func(to, from *Spec) // writes through the pointer that to has
}

// AllSettings returns the settings of a check in the order in which the API reads them.
func AllSettings() []Setting { return slices.Clone(settings) }

// SettingNamed returns the setting with a name. It panics if there is none.
func SettingNamed(name string) Setting {
	return settings[slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name })]
}

// Value returns the value that a spec gives the setting, or nil if it gives none.
func (s Setting) Value(spec Spec) any { return s.value(&spec) }

// Of returns the value that the setting has in settings, or nil for channels, which are no part of them.
func (s Setting) Of(settings Settings) any {
	fields := settings.fields()
	return s.value(&fields)
}

// Set sets the setting in a spec. The value has the type of the setting, or is the text of tags with one blank between
// two, as in the API. Set panics if it has another type.
func (s Setting) Set(spec *Spec, value any) { s.set(spec, value) }

// ValueText returns the value of a setting for people: a period such as 1h30m, tags with one blank between two, "" for nil.
func ValueText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(value, " ")
	case time.Duration:
		text := value.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
	return fmt.Sprint(value)
}

// field returns the row of a setting that is one field of a spec, with the rules for its values.
func field[T any](row Setting, in func(*Spec) **T, rules ...func(value T, now time.Time) error) Setting {
	row.Zero = *new(T)
	row.value = func(s *Spec) any {
		if value := *in(s); value != nil {
			return *value
		}
		return nil
	}
	row.set = func(s *Spec, value any) { *in(s) = new(value.(T)) }
	row.validate = func(s *Spec, now time.Time) error {
		value := *in(s)
		for _, rule := range rules {
			if value == nil {
				break
			}
			if err := rule(*value, now); err != nil {
				return err
			}
		}
		return nil
	}
	row.assign = func(to, from *Spec) {
		if value := *in(from); value != nil {
			**in(to) = *value
		}
	}
	return row
}

func text(row Setting, in func(*Spec) **string, rules ...func(string, time.Time) error) Setting {
	bound := func(value string, _ time.Time) error { return validText(row.Name, value, row.Max) }
	return field(row, in, append([]func(string, time.Time) error{bound}, rules...)...)
}

func count(row Setting, in func(*Spec) **int) Setting {
	return field(row, in, func(n int, _ time.Time) error { return row.validNumber(int64(n)) })
}

func period(row Setting, in func(*Spec) **time.Duration) Setting {
	row.Min, row.Max = int64(MinPeriod/time.Second), int64(MaxPeriod/time.Second)
	return field(row, in, func(d time.Duration, _ time.Time) error {
		if d == 0 && row.Optional {
			return nil
		}
		return row.validPeriod(d)
	})
}

func (s Setting) validPeriod(d time.Duration) error {
	if d%time.Second != 0 {
		return refuse(s.Name, "is not a whole number of seconds: %v", d)
	}
	return s.validNumber(int64(d / time.Second))
}

func (s Setting) validNumber(n int64) error {
	switch {
	case n < s.Min:
		return refuse(s.Name, "is too small: %d, the minimum is %d", n, s.Min)
	case n > s.Max:
		return refuse(s.Name, "is too large: %d, the maximum is %d", n, s.Max)
	}
	return nil
}

// tags returns the row of the tags. A spec that sets them has a list that is not nil, and no pointer to one.
func tags(row Setting) Setting {
	row.Zero = []string(nil)
	row.value = func(s *Spec) any {
		if s.Tags == nil {
			return nil
		}
		return s.Tags
	}
	row.set = func(s *Spec, value any) {
		if text, ok := value.(string); ok {
			value = []string{text} // too long, which the rule refuses
			if int64(len(text)) <= utf8.UTFMax*row.Max {
				value = splitTags(text)
			}
		}
		s.Tags = append([]string{}, value.([]string)...)
	}
	row.validate = func(s *Spec, _ time.Time) error {
		if err := validText(row.Name, strings.Join(s.Tags, " "), row.Max); err != nil {
			return err
		}
		for _, tag := range s.Tags {
			if strings.Contains(tag, row.Separator) {
				return refuse(row.Name, "has an item with a blank: %q", cut(tag))
			}
		}
		return nil
	}
	row.assign = func(*Spec, *Spec) {} // their copy has its own memory
	return row
}
