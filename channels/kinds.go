package channels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Kind is how a channel delivers: the field kind of section 2.4 of the API.
type Kind string

// The kinds of this package, besides [Group]. Package standard lists all kinds of Rollcall.
const (
	// Email sends e-mail.
	Email Kind = "email"
	// Webhook makes an HTTP request.
	Webhook Kind = "webhook"
	// SMS sends a text message to a phone.
	SMS Kind = "sms"
	// WhatsApp sends a WhatsApp message.
	WhatsApp Kind = "whatsapp"
	// Call calls a phone and reads the alert.
	Call Kind = "call"
)

// Function is the kind of an alert to the function OnAlert of a monitor's configuration. No channel has it.
const Function Kind = "function"

// maxSetting is the maximum length of a setting's value, in characters.
const maxSetting = 10_000

// A Setting documents one setting of a kind and checks its values.
type Setting struct {
	// Name is the key in [Channel.Settings].
	Name string
	// Doc says what the setting is for, in one or a few sentences, for users.
	Doc string
	// Required is true if a channel of the kind needs the setting.
	Required bool
	// Primary is true if most channels of the kind have the setting although it is not required, such as one of two that can take
	// the place of each other. Forms show required and primary settings, and others only to people who ask for them. A kind with
	// neither shows its first setting.
	Primary bool
	// Secret is true if the value is a password or a token. Stored secrets are never shown, but
	// for the host of a URL and the names of headers on the page that changes them.
	Secret bool
	// Default is the value if none is given. Empty means that there is no default.
	Default string
	// Options are all values that are allowed, if there are few: forms offer them, and [Validate] refuses others.
	Options []string
	// Lines is true if the value may have several lines. Forms give it more room.
	Lines bool
	// Subscription is true if the value is a subscription of the Push API as JSON. Pages offer to subscribe the browser.
	Subscription bool
	// KeepsSecrets is true if no value of this setting makes the channel send its secrets to another receiver. Who changes
	// another setting in a form must type the secrets of the channel again; otherwise its stored secrets could be sent to
	// an address of their choice.
	KeepsSecrets bool
	// Check, unless nil, returns what is wrong with a value, as a phrase that follows the name of the setting, such as
	// "is not a phone number". It must not repeat the value. It is not called for the empty value.
	Check func(value string) error
}

// A Type is a kind of channel with its settings, and how alerts to its channels are delivered. A monitor has a list of
// them, and a program with its own kind adds another:
//
//	monitor.Config{Channels: []channels.Type{{Kind: "pager", Settings: settings, Notifier: pager}}}
type Type struct {
	// Kind is the name of the kind in channels and in the API.
	Kind Kind
	// Title is the name of the kind for people, such as "Microsoft Teams". Default: the kind.
	Title string
	// Category is the group of the kind, by which pages find it. Default: "Others".
	Category Category
	// Privileged is true if the settings of a channel decide what happens on the machine of the server, such as which
	// command runs there. Pages leave such kinds to administrators.
	Privileged bool
	// Combines is true if the Notifier writes a text for people, so that one notification may be about several checks during a
	// storm of alerts: those in [Notification].Combined. It is false for receivers that must have one for each check, such as
	// programs and those that keep an incident; see [IncidentNotifier].
	Combines bool
	// Doc says what the kind does, in one or a few sentences, for users.
	Doc string
	// Setup says where the URL, token or key of a channel comes from, in about two sentences, for users: "In Discord: Edit Channel >
	// Integrations > Webhooks; copy the URL." It is empty if people know the settings without help, such as an e-mail address.
	Setup string
	// Settings are those of the kind alone. [Type.AllSettings] adds what every kind has.
	Settings []Setting
	// Check, unless nil, checks rules that involve several settings. It gets all settings, each valid and with its
	// default. It returns a [*SettingError], whose Kind may be empty.
	Check func(settings map[string]string) *SettingError
	// Warn, unless nil, returns what is likely to go wrong with settings that pass Check, or nil. Pages, the command line and the
	// API say it where the settings are saved.
	Warn func(settings map[string]string) *SettingError
	// Preview, unless nil, returns what a channel sends for a notification, as text for people who fill in a form: the lines of a
	// message, or a request. The result has no secrets. It is "" if the channel sends nothing, or if its settings are not valid.
	// Preview uses no network. Default: title and text of package message, without markup.
	Preview func(c Channel, n Notification) string
	// Notifier delivers the alerts. It is nil if this program knows the kind but cannot deliver to it.
	Notifier Notifier
	// Missing says for users what a program without a Notifier lacks, such as "no mail server is configured". It is the text
	// of the [NotConfiguredError]. Default: a text that names the kind.
	Missing string
	// Ready, unless nil, returns why the Notifier could not deliver to a channel although its settings are valid: a
	// [*NotConfiguredError], or a [*SettingError] whose Kind may be empty. A monitor calls it before it stores new settings.
	// It may use the network for a few seconds, but sends nothing to the receiver. What it cannot find out is no error.
	Ready func(ctx context.Context, settings map[string]string) error
}

// NotifySetting is a setting of every kind: down or up limits a channel to alerts about that status, both is the default.
// [Channel.Wants] reads it.
const NotifySetting = "notify"

// both is the default of NotifySetting. Validate does not store it.
const both = "both"

// AllSettings returns the settings of the kind and [NotifySetting]. A kind that has a setting of that name keeps it. The
// result is a new slice.
func (t Type) AllSettings() []Setting {
	for _, s := range t.Settings {
		if s.Name == NotifySetting {
			return slices.Clone(t.Settings)
		}
	}
	return append(slices.Clip(t.Settings), Setting{
		Name:    NotifySetting,
		Doc:     "Which alerts the integration gets: down, up or both. Reminders are alerts about down.",
		Default: both, Options: []string{both, string(Down), string(Up)}, KeepsSecrets: true,
	})
}

// A Category is a group of kinds, by which pages find them. A program may have its own.
type Category string

// The categories of the kinds of Rollcall.
const (
	CategoryMail   Category = "E-mail and phone"
	CategoryChat   Category = "Chat"
	CategoryPush   Category = "Push messages"
	CategoryOnCall Category = "On call and incidents"
	CategoryCustom Category = "Your own programs"
	CategoryGroups Category = "Several at once"
)

// A NotConfiguredError says that a program cannot deliver to channels of a kind that it may know: it has no [Notifier]
// for the kind, or the notifier lacks something.
type NotConfiguredError struct {
	Kind Kind
	// Missing says for users what the program lacks, such as "no mail server is configured". It may be empty.
	Missing string
}

// Error returns what is missing.
func (e *NotConfiguredError) Error() string {
	if e.Missing != "" {
		return e.Missing
	}
	return fmt.Sprintf("integrations of the kind %q are not configured on this server", e.Kind)
}

// A KindError is the error of an unknown kind.
type KindError struct {
	Kind Kind
	// Known lists the known kinds in the order given to [Validate].
	Known []Kind
}

// Error names the unknown kind and the known ones.
func (e *KindError) Error() string {
	return fmt.Sprintf("kind is unknown: %q, the known kinds are %s", cut(string(e.Kind)), join(e.Known))
}

// A SettingError says which setting of a channel is wrong, and why. It never contains the value, which may be a secret.
type SettingError struct {
	Kind Kind
	// Setting is the name of the setting.
	Setting string
	// Reason is a phrase that follows the name, such as "is missing".
	Reason string
}

// Error returns kind, setting and reason, such as "email: to is missing".
func (e *SettingError) Error() string {
	return fmt.Sprintf("%s: %s %s", e.Kind, cut(e.Setting), e.Reason)
}

// Validate checks the settings of a channel before it is stored. It returns a new map: the settings that are not empty,
// and the defaults of the others; it leaves out the default of [NotifySetting]. An empty value counts as not given. If a
// kind occurs several times in types, the last one counts, so a program can replace one of package standard.
//
// stored are the settings that the channel has already, or nil for a new channel. What stays as it is passes, even if the
// kind has changed its rules or is unknown.
//
// An unknown kind is a [*KindError]. A [*SettingError] reports a setting that the kind does not have, that is missing,
// that is not UTF-8 without NUL of at most 10,000 characters, that is none of its options, or that fails its check.
// Of several errors it returns the first: unknown names alphabetically, then the order of [Type.AllSettings].
func Validate(types []Type, kind Kind, settings, stored map[string]string) (map[string]string, error) {
	given := maps.Clone(settings)
	maps.DeleteFunc(given, func(_, value string) bool { return value == "" })
	if stored != nil && maps.Equal(given, stored) {
		return given, nil
	}
	var info *Type
	known := make([]Kind, len(types))
	for i := range types {
		known[i] = types[i].Kind
		if types[i].Kind == kind {
			info = &types[i]
		}
	}
	if info == nil {
		return nil, &KindError{Kind: kind, Known: known}
	}
	return info.validate(settings, stored)
}

// validate is [Validate] for a known kind.
func (t *Type) validate(settings, stored map[string]string) (map[string]string, error) {
	all := t.AllSettings()
	if err := t.checkNames(all, settings, stored); err != nil {
		return nil, err
	}
	valid := make(map[string]string, len(all))
	for name, value := range settings { // with stored ones that the kind does not have any more
		if value != "" {
			valid[name] = value
		}
	}
	for _, s := range all {
		value := settings[s.Name]
		if old, found := stored[s.Name]; found && value == old {
			continue
		}
		value, err := s.validate(value)
		if err != nil {
			return nil, &SettingError{Kind: t.Kind, Setting: s.Name, Reason: err.Error()}
		}
		if value != "" {
			valid[s.Name] = value
		}
	}
	if valid[NotifySetting] == both {
		delete(valid, NotifySetting)
	}
	if t.Check != nil && (stored == nil || !maps.Equal(valid, stored)) {
		if err := t.Check(valid); err != nil {
			return nil, &SettingError{Kind: t.Kind, Setting: err.Setting, Reason: err.Reason}
		}
	}
	return valid, nil
}

// checkNames refuses settings that the kind does not have.
func (t *Type) checkNames(all []Setting, settings, stored map[string]string) error {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	var unknown []string
	for name, value := range settings {
		if old, found := stored[name]; !slices.Contains(names, name) && !(found && value == old) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return &SettingError{
		Kind:    t.Kind,
		Setting: slices.Min(unknown),
		Reason:  "is not a setting of this kind, which has " + join(names),
	}
}

// validate returns the value, or the default for an empty one.
func (s Setting) validate(value string) (string, error) {
	switch {
	case value == "" && s.Default != "":
		return s.Default, nil
	case value == "" && s.Required:
		return "", errors.New("is missing")
	case value == "":
		return "", nil
	case !utf8.ValidString(value):
		return "", errors.New("is not valid UTF-8")
	case strings.ContainsRune(value, 0):
		return "", errors.New("contains a NUL character")
	case utf8.RuneCountInString(value) > maxSetting:
		return "", fmt.Errorf("is too long: %d characters, the maximum is %d", utf8.RuneCountInString(value), maxSetting)
	case len(s.Options) > 0 && !slices.Contains(s.Options, value):
		return "", errors.New("is not " + either(s.Options))
	}
	if s.Check == nil {
		return value, nil
	}
	err := s.Check(value)
	if err != nil && s.Secret && strings.Contains(err.Error(), value) {
		return "", errors.New("is malformed") // a program's own check may repeat the value
	}
	return value, err
}

// either lists words, the last one after "or".
func either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return join(words[:last]) + " or " + words[last]
}

// join lists words with commas.
func join[S ~string](words []S) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}
