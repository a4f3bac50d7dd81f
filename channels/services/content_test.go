package services_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// texts lists the texts of a request.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			list = append(list, texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			list = append(list, texts(item)...)
		}
	case url.Values:
		for _, item := range v {
			list = append(list, item...)
		}
	}
	return list
}

// TestOutput sends an alert about a ping whose body has the markup of every service. No line of it looks like one of the
// alert, mentions anybody or hides anything.
func TestOutput(t *testing.T) {
	const output = "\x1b[31mxyzzy\x1b[0m @everyone @all @here @room <!channel> <users/all> <@all> @**all** <at>all</at> [x](http://evil)\r\n" +
		"DOWN: xyzzy\r\n    xyzzy\n- xyzzy *b* _i_ `c` ~~s~~ ||s||\n# xyzzy\n```xyzzy\n\u202exyzzy\x00\n| xyzzy | a |\n1. xyzzy\n<b>xyzzy</b>\n```\n"
	mentions := map[channels.Kind][]string{
		"discord":       {"@everyone", "@here", "<@a"},
		"googlechat":    {"<users", "<at", "<b>"},
		"mattermost":    {"@all", "@here", "@everyone"},
		"nextcloudtalk": {"@all"},
		"notifiarr":     {"@everyone", "@here", "<@a"},
		"rocketchat":    {"@all", "@here"},
		"slack":         {"<!", "<@"},
		"telegram":      {"@everyone", "@all"},
		"wecom":         {"<@"},
	}
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, sample.answers...)
			n := down()
			n.Ping = channels.Ping{At: n.At, Kind: "fail", End: []byte(output)}
			if err := s.send(kind, sample.settings, n); err != nil {
				t.Fatal(err)
			}
			lines := 0
			for _, r := range s.got {
				address, err := url.Parse(r.URL)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range append(texts(r.Body), texts(address.Query())...) {
					for line := range strings.SplitSeq(strings.ReplaceAll(text, "<br>", "\n"), "\n") {
						if !strings.Contains(line, "xyzzy") {
							continue
						}
						lines++
						if !strings.HasPrefix(line, "> ") {
							t.Errorf("a line of the output looks like one of the alert: %q", line)
						}
						hidden := strings.ReplaceAll(line, "\u200b", "") // ours
						if strings.ContainsFunc(hidden, func(r rune) bool { return !unicode.IsPrint(r) && r != '\u00a0' }) {
							t.Errorf("a line of the output hides something: %q", line)
						}
						for _, mention := range mentions[kind] {
							if strings.Contains(line, mention) {
								t.Errorf("the output mentions somebody or marks up by %s: %q", mention, line)
							}
						}
					}
				}
			}
			if lines < 10 {
				t.Errorf("%d lines of the output arrived, want all 10", lines)
			}
		})
	}
}
