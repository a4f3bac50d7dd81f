package standard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
)

// picture draws what an integration with the settings sends about an outage: what the receiver shows of the payload, without the
// looks of the receiver. It returns the SVG and its text for those who cannot see it.
func picture(t *testing.T, kind channels.Kind, settings map[string]string, alerts []channels.Notification) (svg, alt string) {
	t.Helper()
	c := newCanvas()
	if kind == channels.Email {
		alt = c.mail(t, mails(t, settings, alerts[:1])[0])
		return c.picture(alt), alt
	}
	draw, found := map[channels.Kind]func(*canvas, []byte) string{
		"slack": (*canvas).slack, "teams": (*canvas).teams, "discord": (*canvas).discord, "telegram": (*canvas).telegram, "ntfy": (*canvas).ntfy,
		"pagerduty": (*canvas).pagerduty, "opsgenie": (*canvas).opsgenie, channels.SMS: (*canvas).sms,
	}[kind]
	if !found {
		alt = c.request(requests(t, kind, settings, alerts[:1])[0])
		return c.picture(alt), alt
	}
	var said []string
	for i, r := range requests(t, kind, settings, alerts) {
		if i > 0 {
			c.rule()
		}
		left := c.left
		said = append(said, draw(c, r.body))
		c.left = left
	}
	alt = strings.Join(said, " ")
	return c.picture(alt), alt
}

// read reads a payload of ours, of which a receiver shows only a part.
func read[T any](body []byte) (payload T) {
	if err := json.Unmarshal(body, &payload); err != nil {
		panic(fmt.Sprintf("%v in %s", err, body))
	}
	return payload
}

// first returns the title and the first line of a text.
func first(title, text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return title + ". " + text
}

func (c *canvas) slack(body []byte) string {
	m := read[struct {
		Text        string
		Attachments []struct{ Color, Text string }
	}](body)
	title, text := html.UnescapeString(m.Text), html.UnescapeString(m.Attachments[0].Text)
	c.sender()
	c.text("", title)
	c.y += 6
	c.bar(fmt.Sprintf(`class="%s"`, map[string]string{"danger": "down", "good": "up"}[m.Attachments[0].Color]), func() { c.lines(text) })
	return first(title, text)
}

func (c *canvas) teams(body []byte) string {
	m := read[struct {
		Attachments []struct {
			Content struct {
				Body []struct {
					Inlines []struct{ Text, Weight, Color string }
				}
				Actions []struct{ Title string }
			}
		}
	}](body)
	card := m.Attachments[0].Content
	c.sender()
	c.y += 4
	c.box("box", func() {
		for _, block := range card.Body {
			class := "plain" // an address in it is no link
			if run := block.Inlines[0]; run.Weight == "Bolder" {
				class = map[string]string{"Attention": "strong down", "Good": "strong up"}[run.Color]
			}
			c.text(class, block.Inlines[0].Text)
		}
		for _, action := range card.Actions {
			c.y += 12
			w := font{size: textSize}.width(action.Title) + 24
			c.printf(`<rect class="page" x="%g" y="%g" width="%g" height="32" rx="4"/>`, c.left, c.y, w)
			c.y += 26
			c.row("", c.left+12, action.Title)
			c.y += 6
		}
	})
	return first(card.Body[0].Inlines[0].Text, card.Body[1].Inlines[0].Text)
}

// discordMarkup matches a character that is escaped in the Markdown of Discord.
var discordMarkup = regexp.MustCompile(`\\([[:punct:]])`)

func (c *canvas) discord(body []byte) string {
	m := read[struct {
		Embeds []struct {
			Title, Description string
			Color              int
		}
	}](body)
	embed := m.Embeds[0]
	plain := func(text string) string { return discordMarkup.ReplaceAllString(text, "$1") }
	c.sender()
	c.y += 4
	c.box("box", func() {
		c.bar(fmt.Sprintf(`fill="#%06x"`, embed.Color), func() {
			c.text("strong", plain(embed.Title))
			for line := range strings.SplitSeq(embed.Description, "\n") {
				if quote, isQuote := strings.CutPrefix(line, "> "); isQuote {
					c.bar(`class="dot"`, func() { c.text("", plain(quote)) })
				} else {
					c.lines(plain(line))
				}
			}
		})
	})
	return first(plain(embed.Title), plain(embed.Description))
}

func (c *canvas) telegram(body []byte) string {
	return c.bubble(read[struct{ Text string }](body).Text)
}

func (c *canvas) sms(body []byte) string {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		panic(err)
	}
	return c.bubble(form.Get("Body"))
}

// bubble draws a message without a title.
func (c *canvas) bubble(message string) string {
	title, text, _ := strings.Cut(message, "\n")
	c.box("box", func() { c.lines(message) })
	return first(title, text)
}

func (c *canvas) ntfy(body []byte) string {
	m := read[struct {
		Topic, Title, Message string
		Priority              int
		Tags                  []string
	}](body)
	c.box("box", func() {
		c.text("soft", m.Topic)
		if m.Priority > 3 { // a mark that the app shows for high and max
			c.printf(`<path class="sign" style="stroke: var(--down)" d="M%g %gl5 -5 5 5m-10 6l5 -5 5 5"/>`, c.right-10, c.y-10)
		}
		left := c.left
		for _, tag := range m.Tags {
			if sign, known := signs[tag]; known {
				c.printf(`<g transform="translate(%g %g)">%s</g>`, left, c.y+2, sign)
				left += 26
			}
		}
		c.y += textHeight
		c.row("strong", left, m.Title)
		c.lines(m.Message)
	})
	return first(m.Title, m.Message)
}

// signs are the emoji that ntfy shows for tags.
var signs = map[string]string{
	"warning":          `<path class="down" d="M9 1L18 17H0z"/><path class="sign" d="M9 7v4.500m0 2.500v.1"/>`,
	"white_check_mark": `<rect class="up" width="18" height="18" rx="4"/><path class="sign" d="M4.500 9.500l3 3 6 -7"/>`,
}

func (c *canvas) pagerduty(body []byte) string {
	m := read[struct {
		Action  string `json:"event_action"`
		Key     string `json:"dedup_key"`
		Payload *struct {
			Summary, Source, Severity, Component, Group, Class string
			Details                                            map[string]any `json:"custom_details"`
		}
	}](body)
	if m.Payload == nil {
		c.pill("up", c.left, m.Action)
		c.y += 30
		c.field("key", m.Key)
		return m.Action + "."
	}
	p := m.Payload
	c.pill("down", c.pill("down", c.left, m.Action), p.Severity)
	c.y += 28
	c.text("strong", p.Summary)
	c.y += 8
	for _, f := range [][2]string{{"source", p.Source}, {"component", p.Component}, {"group", p.Group}, {"class", p.Class}, {"key", m.Key}} {
		c.field(f[0], f[1])
	}
	c.rule()
	for _, name := range []string{"expected", "last_ping", "exit_status", "text"} {
		c.field(name, fmt.Sprint(p.Details[name]))
	}
	return p.Summary
}

func (c *canvas) opsgenie(body []byte) string {
	m := read[struct{ Message, Priority, Source, Entity, Description, Note string }](body)
	if m.Message == "" {
		c.pill("up", c.left, "closed")
		c.y += 30
		c.lines(m.Note)
		return first("Closed", m.Note)
	}
	c.pill("soft", c.pill("down", c.left, "open"), m.Priority)
	c.y += 28
	c.text("strong", m.Message)
	c.y += 8
	c.field("source", m.Source)
	c.field("entity", m.Entity)
	c.rule()
	c.lines(m.Description)
	return first(m.Message, m.Description)
}

// inner matches what is in an object of an indented document.
var inner = regexp.MustCompile(`\{\n(    .*\n)+  \}`)

// request draws a request, of whose document it leaves out what is in objects.
func (c *canvas) request(r request) string {
	head, _, _ := strings.Cut(r.head, "\n")
	for line := range strings.SplitSeq(strings.TrimSpace(r.head)+"\n\n"+inner.ReplaceAllString(indented(r.body), "{ … }"), "\n") {
		c.text("code", line)
	}
	m := read[struct{ Type, Reason, Cause string }](r.body)
	return fmt.Sprintf("%s with a document: type %s, reason %s, cause %s …", head, m.Type, m.Reason, m.Cause)
}

// indented returns a JSON document in several lines.
func indented(document []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, document, "", "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// mailHeight is how high the HTML part is at most, in the widest of the usual fonts.
const mailHeight = 560.0

// mail draws the headers that mail programs show, and the HTML part as it is.
func (c *canvas) mail(t *testing.T, data []byte) string {
	header, page := parts(t, data)
	_, style, found := strings.Cut(page, "\n<body ")
	content, _, closed := strings.Cut(style, "\n</body>")
	if !found || !closed {
		t.Fatalf("no body in %s", page)
	}
	c.text("strong", header.Get("Subject"))
	for _, name := range []string{"From", "To"} {
		c.text("soft", name+": "+strings.ReplaceAll(header.Get(name), `"`, ""))
	}
	c.y += 12
	c.printf(`<rect class="page" style="fill: #fff" x=".5" y="%g" width="%g" height="%g" rx="12"/>`, c.y, pictureWidth-1, mailHeight-.5)
	c.printf(`<foreignObject x="4" y="%g" width="%g" height="%g"><div xmlns="http://www.w3.org/1999/xhtml" %s
</div></foreignObject>`, c.y, pictureWidth-8, mailHeight, content)
	c.y += mailHeight - margin
	_, verdict, _ := strings.Cut(content, "\n<p>")
	verdict, _, _ = strings.Cut(verdict, "</p>")
	return first(header.Get("Subject"), html.UnescapeString(verdict))
}
