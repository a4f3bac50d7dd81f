package integrations

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// kindsView is the data of the page on which a viewer chooses a kind.
type kindsView struct {
	// Text is what the viewer searches for, or "", and All counts the kinds that can be searched.
	Text string
	All  int
	// Common are the kinds on tiles, in the order of [common]. A search has none.
	Common []kindChoice
	// Kinds are the others in alphabetical order, or those that a search finds, the best first.
	Kinds []kindChoice
	// Lacking are those that nobody can send yet, and Server those that are created on the server.
	Lacking, Server []kindChoice
	// None says that no kind can be created here.
	None bool
}

// kindChoice is a kind on that page.
type kindChoice struct {
	Kind, Title string
	// Words says in at most five words what it does.
	Words string
	// Icon is the name of its glyph, or else Initials stand for it.
	Icon, Initials string
	// Lacks says why nobody can send it, or "".
	Lacks string
	// rank is 0 if a search finds its name, and 1 if it finds only what the kind does.
	rank int
}

// Found counts what a search finds.
func (v kindsView) Found() int { return len(v.Kinds) + len(v.Lacking) + len(v.Server) }

// about is what the page says about a kind of this module. The kinds of a program have the beginning of their Doc.
type about struct {
	words string // what it does, in at most five words
	mark  string // "#" and the name of a glyph, or initials; those of the title by default
	found string // other words by which people search for it, in lower case
}

// common are the kinds on tiles.
var common = []channels.Kind{channels.Email, "slack", "teams", "telegram", "discord", "pagerduty", "ntfy", channels.Webhook}

var kinds = map[channels.Kind]about{
	"alertmanager":    {words: "into your alert routing", found: "grafana"},
	"apprise":         {words: "over a hundred services"},
	"bark":            {words: "push to an iPhone", found: "ios apple"},
	channels.Call:     {words: "Twilio reads the alert", found: "phone telephone voice twilio"},
	"dingtalk":        {words: "group, by robot"},
	"discord":         {words: "channel, by webhook"},
	channels.Email:    {words: "to people or a list", mark: "#mail", found: "email mail gmail outlook smtp"},
	"github":          {words: "issue, closed when up", mark: "GH", found: "ticket"},
	"gitlab":          {words: "issue, closed when up", mark: "GL", found: "ticket"},
	"goalert":         {words: "alert, closed when up"},
	"googlechat":      {words: "card in a space", found: "gchat workspace hangouts"},
	"gotify":          {words: "push from your server"},
	channels.Group:    {words: "several integrations as one"},
	"homeassistant":   {words: "notification, phone or script", found: "hass smart home"},
	"ifttt":           {words: "triggers an applet"},
	"ilert":           {words: "alert, resolved when up"},
	"incidentio":      {words: "alert, resolved when up", found: "incidentio"},
	"join":            {words: "push to your devices", found: "joaoapps android"},
	"jsm":             {words: "alert, closed when up", found: "atlassian opsgenie ticket"},
	"lark":            {words: "group, by bot", found: "feishu"},
	"line":            {words: "users, groups or chats"},
	"matrix":          {words: "message in a room", found: "element synapse"},
	"mattermost":      {words: "channel, by webhook"},
	"mqtt":            {words: "message to a topic", found: "mosquitto iot broker"},
	"nextcloudtalk":   {words: "message in a conversation"},
	"notifiarr":       {words: "Discord channel, by Notifiarr"},
	"ntfy":            {words: "push to a topic", mark: "#bell", found: "notify phone"},
	"opsgenie":        {words: "ends in April 2027", found: "atlassian"},
	"pagerduty":       {words: "opens and resolves alerts", mark: "PD", found: "pager pd"},
	"pushbullet":      {words: "push to your devices"},
	"pushover":        {words: "push, repeated if urgent"},
	"rocketchat":      {words: "channel, by webhook", found: "rocketchat"},
	"shell":           {words: "runs on the server", found: "script bash"},
	"signal":          {words: "message, by your server"},
	"slack":           {words: "channel, webhook or bot", mark: "#hash"},
	channels.SMS:      {words: "through Twilio", found: "sms phone mobile twilio"},
	"sns":             {words: "message to a topic", found: "aws"},
	"splunkoncall":    {words: "incident, resolved when up", found: "victorops"},
	"teams":           {words: "card in a channel", mark: "#chat", found: "office 365 ms"},
	"telegram":        {words: "bot to a chat", mark: "TG"},
	"webex":           {words: "space, by webhook or bot", found: "cisco"},
	channels.Webhook:  {words: "your own HTTP request", mark: "#hook", found: "http https url request rest api post json custom"},
	"webpush":         {words: "this browser, no app", found: "browser phone desktop notification"},
	"wecom":           {words: "group, by robot", found: "wechat"},
	channels.WhatsApp: {words: "through Twilio", found: "phone mobile twilio"},
	"zulip":           {words: "channel or direct message"},
}

// categories are words by which people search for all kinds of a category. That of a program is searched by its name.
var categories = map[channels.Category]string{
	channels.CategoryMail: "", channels.CategoryGroups: "several",
	channels.CategoryChat: "chat messenger", channels.CategoryPush: "push mobile phone app notification",
	channels.CategoryOnCall: "on call on-call oncall pager incident", channels.CategoryCustom: "own programs",
}

// kindChoices returns the kinds that match a text.
func kindChoices(q *ui.Request, text string) kindsView {
	search := ui.NewSearch(text)
	allowed := kindsToMake(q)
	view := kindsView{Text: search.Text, All: len(allowed), None: len(allowed) == 0}
	for _, info := range q.Mon.Kinds() {
		choice := choiceOf(info)
		if err := q.Mon.Undeliverable(info.Kind); err != nil {
			choice.Lacks = lacks(err)
		}
		if choice.rank = rank(search, info, choice); choice.rank < 0 {
			continue
		}
		switch {
		case !mayMake(q, info):
			view.Server = append(view.Server, choice)
		case choice.Lacks != "":
			view.Lacking = append(view.Lacking, choice)
		case search.Empty() && slices.Contains(common, info.Kind):
			view.Common = append(view.Common, choice)
		default:
			view.Kinds = append(view.Kinds, choice)
		}
	}
	place := func(k kindChoice) int { return slices.Index(common, channels.Kind(k.Kind)) }
	slices.SortFunc(view.Common, func(a, b kindChoice) int { return cmp.Compare(place(a), place(b)) })
	for _, list := range [][]kindChoice{view.Kinds, view.Lacking, view.Server} {
		slices.SortStableFunc(list, func(a, b kindChoice) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)))
		})
	}
	return view
}

// choiceOf describes a kind.
func choiceOf(info channels.Type) kindChoice {
	known, choice := kinds[info.Kind], kindChoice{Kind: string(info.Kind), Title: kindTitle(info)}
	choice.Words = cmp.Or(known.words, fewWords(inLabels(info, info.Doc)))
	if icon, found := strings.CutPrefix(known.mark, "#"); found {
		choice.Icon = icon
	} else {
		choice.Initials = cmp.Or(known.mark, initials(choice.Title))
	}
	return choice
}

// rank says how well a search finds a kind: 0 by its name, 1 by what it does, and -1 not at all.
func rank(search ui.Search, info channels.Type, choice kindChoice) int {
	name := strings.ToLower(strings.Join([]string{choice.Kind, choice.Title, kinds[info.Kind].found}, "\n"))
	category, known := categories[info.Category]
	if !known {
		category = strings.ToLower(string(info.Category))
	}
	switch {
	case search.Matches(name):
		return 0
	case search.Matches(name, category, strings.ToLower(choice.Words), strings.ToLower(info.Doc)):
		return 1
	}
	return -1
}

// maxWords is how many words the page says about a kind.
const maxWords = 5

// fewWords returns the beginning of a text.
func fewWords(text string) string {
	words := strings.Fields(text)
	if len(words) <= maxWords {
		return strings.TrimSuffix(text, ".")
	}
	return strings.Join(words[:maxWords], " ") + "…"
}

// initials returns the first letters of the first two words, or the first two letters.
func initials(title string) string {
	first, second, _ := strings.Cut(title, " ")
	r, size := utf8.DecodeRuneInString(first)
	next, _ := utf8.DecodeRuneInString(cmp.Or(second, first[size:]))
	if next == utf8.RuneError {
		return string(r)
	}
	return string(r) + string(next)
}
