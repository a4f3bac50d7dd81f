package channels

import (
	"fmt"
	"maps"
	"slices"
)

// A KeptError says that a change could send a secret that the channel keeps to another receiver.
type KeptError struct {
	Kind Kind
	// Kept is the secret setting that must be given again, and Source its origin if it has one in [Channel.Sources].
	Kept, Source string
	// Moved is the setting that changes.
	Moved string
}

// Error names both settings.
func (e *KeptError) Error() string {
	return fmt.Sprintf("%s: %s must be given again, because %s changes: it could send the stored value elsewhere", e.Kind, e.Kept, e.Moved)
}

// Shows reports whether people may see the value that a channel has for a setting. A secret of the kind, a value with a source,
// and a setting that the kind does not have are never shown.
func (t Type) Shows(c Channel, setting string) bool {
	known := func(s Setting) bool { return s.Name == setting && !s.Secret }
	return c.Sources[setting] == "" && slices.ContainsFunc(t.AllSettings(), known)
}

// Merge returns the settings of a channel after a change: those in wanted, the defaults of others, and the stored secrets that
// wanted leaves out or has as "", unless cleared reports that they shall go. A value with a source is a secret, too.
//
// Nobody may have a stored secret sent to a receiver of their choice. So if a setting changes that could decide where
// the secrets go (see [Setting].KeepsSecrets), all kept secrets must be given again: the error is a [*KeptError].
func (t Type) Merge(c Channel, wanted map[string]string, cleared func(name string) bool) (map[string]string, error) {
	settings := maps.Clone(wanted)
	if settings == nil {
		settings = map[string]string{}
	}
	var moved, kept string
	for _, s := range t.AllSettings() {
		old, value := c.Settings[s.Name], wanted[s.Name]
		switch {
		case (s.Secret || c.Sources[s.Name] != "") && value == "" && old != "" && !cleared(s.Name):
			value = old
			if kept == "" {
				kept = s.Name
			}
		case value == "":
			value = s.Default
		}
		if value != old && !s.KeepsSecrets && moved == "" {
			moved = s.Name
		}
		settings[s.Name] = value
	}
	if moved != "" && kept != "" {
		return nil, &KeptError{Kind: t.Kind, Kept: kept, Source: c.Sources[kept], Moved: moved}
	}
	return settings, nil
}
