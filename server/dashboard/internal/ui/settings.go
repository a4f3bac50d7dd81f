package ui

import "strings"

// settingLabels are what pages call the settings of a check, where their names do not say it.
var settingLabels = map[string]string{
	"when": "Schedule type", "timeout": "Interval", "tz": "Time zone", "grace": "Grace time", "channels": "Integrations", "desc": "Description", "max_runtime": "Maximum run time",
	"after": "Waits for", "filter_http_body": "HTTP body filter", "filter_subject": "Subject filter", "filter_body": "E-mail body filter",
	"start_kw": "Start keywords", "success_kw": "Success keywords", "failure_kw": "Failure keywords", "filter_default_fail": "Default to failure",
}

// SettingLabel returns what pages call a setting of a check, an integration or another thing: "url_down" is "URL down".
func SettingLabel(name string) string {
	if label, ok := settingLabels[name]; ok {
		return label
	}
	words := strings.Split(name, "_")
	for i, word := range words {
		switch word {
		case "url", "api", "id", "sid", "http", "tls", "ip":
			words[i] = strings.ToUpper(word)
		default:
			if i == 0 && word != "" {
				words[i] = strings.ToUpper(word[:1]) + word[1:]
			}
		}
	}
	return strings.Join(words, " ")
}

// SettingNoun is SettingLabel within a sentence or a list.
func SettingNoun(name string) string {
	label := SettingLabel(name)
	if first, _, _ := strings.Cut(label, " "); first == strings.ToUpper(first) {
		return label // such as URL
	}
	return strings.ToLower(label[:1]) + label[1:]
}
