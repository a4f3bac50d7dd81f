package integrations

import (
	"cmp"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// field is a setting of an integration. What the form has of it is the [ui.Field] Input.
type field struct {
	channels.Setting
	// Stored says that the channel has a value for a secret, Typed that the viewer has typed one, and Clear that they want to remove it.
	// Short is what is shown of the value.
	Stored, Typed, Clear bool
	Short                string
	// Source is where the value comes from, if a file for rollcall apply says so. Such a value is not shown or changed.
	Source string
	// Group says that the value is the members of a group, and Members are the channels to choose from.
	Group   bool
	Members []ui.Choice
	// PushKey is the key with which the browser can subscribe, or "" if the value is no subscription.
	PushKey string
}

// Input is the name of the input: a setting may be called like another field of the form.
func (f field) Input() string { return "s." + f.Name }

// main reports whether the form always shows the field.
func (f field) main() bool { return f.Required || f.Primary }

// Option is the text of one of the options.
func (f field) Option(value string) string {
	if f.Name != channels.NotifySetting {
		return value
	}
	switch channels.Status(value) {
	case channels.Down:
		return "down only"
	case channels.Up:
		return "up only"
	}
	return "down and up"
}

// addFields adds the fields of a channel's settings.
func (v *integrationForm) addFields(q *ui.Request, info channels.Type, c channels.Channel) error {
	for _, s := range info.AllSettings() {
		f := field{Setting: s, Source: c.Sources[s.Name]}
		if s.Secret && f.Source == "" {
			f.Stored, f.Short = c.Settings[s.Name] != "", shortened(c.Settings[s.Name])
		}
		if s.Subscription && f.Source == "" {
			f.PushKey = q.Config.PushKey
		}
		if c.Kind == channels.Group && s.Name == "channels" {
			available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
			if err != nil {
				return err
			}
			f.Group = true
			f.Members = memberChoices(q, available, ui.Members(c))
		}
		v.Fields, v.Form.Fields = append(v.Fields, f), append(v.Form.Fields, f.input(info, c))
	}
	return nil
}

// plainInput are attributes of the inputs of settings.
const plainInput template.HTMLAttr = `spellcheck="false" autocomplete="off"`

// input returns the field of the form. It has no value of a secret, or of a source.
func (f field) input(info channels.Type, c channels.Channel) ui.Field {
	in := ui.Field{Name: f.Input(), ID: "s-" + f.Name, Label: ui.SettingLabel(f.Name), Hint: inLabels(info, f.Doc), Secret: f.Secret}
	switch {
	case f.Group:
		in.Label, in.Hint = "Members", "Each member gets every alert to the group once."
	case f.Options != nil:
		if f.Default == "" {
			in.Options = []ui.Choice{{}}
		}
		for _, value := range f.Options {
			in.Options = append(in.Options, ui.Choice{Value: value, Label: f.Option(value)})
		}
	case f.Stored:
		in.Attrs = plainInput + ` placeholder="set; leave empty to keep"`
	case f.Required && !f.Lines:
		in.Attrs = plainInput + " required"
	default:
		in.Attrs = plainInput
	}
	if f.Lines {
		in.Rows = 4
	} else if f.Default != "" && f.Options == nil {
		in.Attrs += template.HTMLAttr(` placeholder="` + template.HTMLEscapeString(f.Default) + `"`)
	}
	if !f.Secret && f.Source == "" {
		in.Value = c.Settings[f.Name]
	}
	if in.Options != nil {
		in.Value = cmp.Or(in.Value, f.Default)
	}
	return in
}

// header is a line of an HTTP header.
var header = regexp.MustCompile(`^([A-Za-z0-9-]{1,60}):`)

// shortened returns what tells a secret from others without giving it away: the host of a URL, the names of headers, or "".
func shortened(secret string) string {
	if u, err := url.Parse(secret); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return words.Cut(u.Scheme+"://"+u.Host, 80) + "/…"
	}
	var names []string
	for line := range strings.Lines(secret) {
		found := header.FindStringSubmatch(line)
		if found == nil {
			return ""
		}
		names = append(names, found[1]+": …")
	}
	return words.Cut(strings.Join(names, ", "), 200)
}

func memberChoices(q *ui.Request, available []channels.Channel, members []uuid.UUID) (list []ui.Choice) {
	for _, c := range available {
		if c.Kind != channels.Group {
			list = append(list, ui.Choice{Value: c.ID.String(), Label: ui.ChannelName(c), Hint: integrationOf(q, c).Title, Selected: slices.Contains(members, c.ID)})
		}
	}
	return list
}

// settingsOf returns the settings of a form.
func settingsOf(fields []field, form url.Values) map[string]string {
	settings := map[string]string{}
	for _, f := range fields {
		value := form.Get("s." + f.Name)
		switch {
		case f.Source != "":
			continue
		case f.Group:
			value = strings.Join(form["member"], ",")
		case f.Lines:
			value = strings.TrimRight(strings.ReplaceAll(value, "\r\n", "\n"), "\n")
		case !f.Secret:
			value = strings.TrimSpace(value)
		}
		settings[f.Name] = value
	}
	return settings
}

// inLabels replaces the names of settings in a text, such as "url_down", by their labels on the page. A name of one word
// reads the same.
func inLabels(info channels.Type, text string) string {
	settings := info.AllSettings()
	slices.SortStableFunc(settings, func(a, b channels.Setting) int { return len(b.Name) - len(a.Name) })
	for _, s := range settings {
		if strings.Contains(s.Name, "_") {
			text = strings.ReplaceAll(text, s.Name, "“"+ui.SettingLabel(s.Name)+"”")
		}
	}
	return text
}
