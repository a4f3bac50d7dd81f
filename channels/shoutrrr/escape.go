package shoutrrr

import "strings"

// gap is a character without width. It separates characters that mean something
// together, where a service has no way to escape them.
const gap = "\u200b"

// slackEscape escapes the three characters that Slack's markup is made of; a
// mention, <!channel>, is nothing without them.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// markdownEscape escapes for Discord and Mattermost: emphasis, code, links,
// mentions of the forms <@1> and @all, channels and emoji.
func markdownEscape(text string) string {
	pairs := []string{"@", "@" + gap}
	for _, c := range "\\*_~`|[]<>#:!" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// rocketEscape escapes for Rocket.Chat, which knows the backslash for emphasis
// only.
func rocketEscape(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "#", `\#`,
		"@", "@"+gap, "](", "]"+gap+"(", "<", "<"+gap,
	).Replace(text)
}

// atEscape keeps names of users from being called.
func atEscape(text string) string { return strings.ReplaceAll(text, "@", "@"+gap) }

// googleEscape keeps <users/all> and links of the form <url|text> from Google
// Chat, which has no escapes.
func googleEscape(text string) string { return strings.ReplaceAll(text, "<", "<"+gap) }
