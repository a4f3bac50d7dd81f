package services

import (
	"regexp"
	"strings"
)

// gap is a zero-width space. For services without escapes, it separates characters that form markup together.
const gap = "\u200b"

// slackEscape escapes the three characters of Slack's markup, and with them mentions such as <!channel>. They are also
// those of HTML outside attributes.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// markdownEscape escapes the markup of Discord and Mattermost: emphasis, code, links, mentions such as <@1> and @all,
// channels and emoji.
func markdownEscape(text string) string {
	pairs := []string{"@", "@" + gap}
	for _, c := range "\\*_~`|[]<>#:!" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// emojiName matches the beginning of the name of an emoji, such as :bell:.
var emojiName = regexp.MustCompile(`:([\w+-])`)

// rocketEscape escapes the markup of Rocket.Chat, where the backslash escapes only some characters. A formula begins with
// \( or \[, a spoiler with two bars.
func rocketEscape(text string) string {
	text = strings.NewReplacer(
		`\`, `\`+gap, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "#", `\#`,
		"@", "@"+gap, "](", "]"+gap+"(", "<", "<"+gap, "|", "|"+gap,
	).Replace(text)
	return emojiName.ReplaceAllString(text, ":"+gap+"$1")
}

// atEscape prevents mentions.
func atEscape(text string) string { return strings.ReplaceAll(text, "@", "@"+gap) }

// wecomEscape prevents mentions such as <@user> in WeCom, whose text has no other markup.
func wecomEscape(text string) string { return strings.ReplaceAll(text, "<@", "<"+gap+"@") }
