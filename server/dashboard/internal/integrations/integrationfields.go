package integrations

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// field is a setting in a form. Value is never that of a secret.
type field struct {
	channels.Setting
	Label, Value string
	// Stored says that the channel has a value for a secret, and Clear that the viewer wants to remove it. Short is what is shown
	// of the value.
	Stored, Clear bool
	Short         string
	// Typed says that the form holds a value for a secret.
	Typed bool
	// Source is where the value comes from, if a file for rollcall apply says so. Such a value is not shown or changed.
	Source  string
	Problem string
	// Group says that the value is the members of a group, and Members are the channels to choose from.
	Group   bool
	Members []ui.Choice
	// PushKey is the key with which the browser can subscribe, or "" if the value is no subscription.
	PushKey string
}

// ID is the identifier of the field in the page.
func (f field) ID() string { return "s-" + f.Name }

// Describe names the elements that describe the field, for aria-describedby.
func (f field) Describe() string {
	ids := f.ID() + "-help"
	if f.Problem != "" {
		ids = f.ID() + "-problem " + ids
	}
	return ids
}

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

// fields returns the fields of a channel's settings.
func fields(q *ui.Request, info channels.Type, c channels.Channel) ([]field, error) {
	var list []field
	for _, s := range info.AllSettings() {
		f := field{Setting: s, Label: settingLabel(s.Name), Source: c.Sources[s.Name]}
		f.Doc = inLabels(info, f.Doc)
		switch {
		case f.Source != "":
		case s.Secret:
			f.Stored, f.Short = c.Settings[s.Name] != "", shortened(c.Settings[s.Name])
		default:
			f.Value = c.Settings[s.Name]
		}
		if f.Value == "" && s.Options != nil {
			f.Value = s.Default
		}
		if s.Subscription && f.Source == "" {
			f.PushKey = q.Config.PushKey
		}
		if c.Kind == channels.Group && s.Name == "channels" {
			available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
			if err != nil {
				return nil, err
			}
			f.Group = true
			f.Members = memberChoices(q, available, ui.Members(c))
		}
		list = append(list, f)
	}
	return list, nil
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

// settingLabel makes a label of the name of a setting: "url_down" is "URL down".
func settingLabel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	for i, word := range words {
		switch word {
		case "url", "api", "id", "sid", "http", "tls", "ip":
			words[i] = strings.ToUpper(word)
		default:
			if i == 0 {
				words[i] = strings.ToUpper(word[:1]) + word[1:]
			}
		}
	}
	return strings.Join(words, " ")
}

// inLabels replaces the names of settings in a text, such as "url_down", by their labels on the page. A name of one word
// reads the same.
func inLabels(info channels.Type, text string) string {
	settings := info.AllSettings()
	slices.SortStableFunc(settings, func(a, b channels.Setting) int { return len(b.Name) - len(a.Name) })
	for _, s := range settings {
		if strings.Contains(s.Name, "_") {
			text = strings.ReplaceAll(text, s.Name, "“"+settingLabel(s.Name)+"”")
		}
	}
	return text
}
