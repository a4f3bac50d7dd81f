package forms

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/keywords"
	"github.com/rollcall-dev/rollcall/pings"
)

// tryPreview shows what a sample ping would be by the keywords of a form.
type tryPreview struct {
	// Hint says why there is nothing to show.
	Hint string
	Ways []tryWay
}

// tryWay is what the sample would be if it came one way.
type tryWay struct {
	How string
	// Kind is the kind of the ping in words, and State the state that it leads to, or "".
	Kind, State string
	Why         string
	// Subject and Body are the texts that were searched.
	Subject, Body []piece
	// Cut says that the end of the body is not searched.
	Cut bool
}

// piece is a piece of a text, Match for a keyword.
type piece struct {
	Text  string
	Match bool
}

// sampleKinds are what pages call kinds of pings, with the state that follows.
var sampleKinds = map[pings.Kind][2]string{
	pings.Success: {"a success", "up"}, pings.Failure: {"a failure", "down"}, pings.Start: {"a start", ""}, pings.Ignored: {"ignored", ""},
}

// maxSample bounds a sample in bytes, because each of up to 200 keywords is looked for.
const maxSample = 100_000

// previewTry tries the keywords of a form against its sample.
func previewTry(f form) (p tryPreview) {
	subject, body := f["sample_subject"], f["sample_body"]
	c := checks.Check{Settings: checks.Settings{
		StartKW: f["start_kw"], SuccessKW: f["success_kw"], FailureKW: f["failure_kw"],
		FilterSubject: f["filter_subject"] != "", FilterBody: f["filter_body"] != "", FilterHTTPBody: f["filter_http_body"] != "",
		FilterDefaultFail: f["filter_default_fail"] != "",
	}}
	mail := c.FilterSubject || c.FilterBody
	switch {
	case !mail && !c.FilterHTTPBody:
		p.Hint = "Choose above where to look for keywords. Until then, the ping URL decides the result."
		return p
	case checks.Spec{StartKW: &c.StartKW, SuccessKW: &c.SuccessKW, FailureKW: &c.FailureKW}.Validate(time.Time{}) != nil:
		p.Hint = "The keywords are too long to try: each list has up to " + strconv.FormatInt(checks.SettingNamed("start_kw").Max, 10) + " characters."
		return p
	case subject == "" && body == "":
		p.Hint = "Paste what your job sends to see how its ping is classified."
		return p
	case len(subject)+len(body) > maxSample:
		p.Hint = "The sample is too long to try: more than 100,000 bytes."
		return p
	}
	if c.FilterHTTPBody {
		kind := c.Classify(pings.FromHTTP("POST", true, []byte(body)))
		searched := body[:min(len(body), keywords.MaxHTTPBody)]
		way := newTryWay("As an HTTP ping", kind)
		words := way.explain(c, searched)
		way.Body, way.Cut = mark(searched, words), len(searched) < len(body)
		p.Ways = append(p.Ways, way)
	}
	if mail {
		kind := c.Classify(pings.FromMail("", nil, &pings.Mail{Subject: subject, Text: body}))
		if !c.FilterSubject {
			subject = ""
		}
		if !c.FilterBody {
			body = ""
		}
		way := newTryWay("As an e-mail", kind)
		words := way.explain(c, subject, body)
		way.Subject, way.Body = mark(subject, words), mark(body, words)
		p.Ways = append(p.Ways, way)
	}
	return p
}

func newTryWay(how string, kind pings.Kind) tryWay {
	words := sampleKinds[kind]
	return tryWay{How: how, Kind: words[0], State: words[1]}
}

// keywordLists are the lists of keywords, in the order in which they win.
var keywordLists = []struct {
	words string
	list  func(checks.Check) string
}{
	{"failure", func(c checks.Check) string { return c.FailureKW }},
	{"success", func(c checks.Check) string { return c.SuccessKW }},
	{"start", func(c checks.Check) string { return c.StartKW }},
}

// matching returns the keywords of a list that the texts have.
func matching(list string, texts ...string) []string {
	var found []string
	for item := range strings.SplitSeq(list, ",") {
		filter, word := keywords.New(item, "", ""), strings.TrimSpace(item)
		has := func(text string) bool { return filter.Classify([]byte(text)) == keywords.Start }
		if slices.ContainsFunc(texts, has) && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found
}

// explain says which keywords decided, and returns them.
func (w *tryWay) explain(c checks.Check, texts ...string) []string {
	for _, k := range keywordLists {
		found := matching(k.list(c), texts...)
		if len(found) == 0 {
			continue
		}
		noun := "keyword"
		if len(found) > 1 {
			noun = "keywords"
		}
		w.Why = "it contains the " + k.words + " " + noun + " “" + strings.Join(found, "”, “") + "”."
		return found
	}
	w.Why = "it contains none of the keywords."
	return nil
}

// The bounds of a text with marks.
const (
	maxMarks  = 200
	maxMarked = 10_000 // bytes
)

// mark splits the beginning of a text at keywords.
func mark(text string, words []string) (pieces []piece) {
	text = text[:min(len(text), maxMarked)]
	for len(pieces) < 2*maxMarks {
		first, length := len(text), 0
		for _, word := range words {
			if at := strings.Index(text, word); at >= 0 && (at < first || at == first && len(word) > length) {
				first, length = at, len(word)
			}
		}
		if length == 0 {
			break
		}
		if first > 0 {
			pieces = append(pieces, piece{Text: text[:first]})
		}
		pieces = append(pieces, piece{Text: text[first : first+length], Match: true})
		text = text[first+length:]
	}
	if text != "" {
		pieces = append(pieces, piece{Text: text})
	}
	for i := range pieces {
		pieces[i].Text = prose.Visible(pieces[i].Text)
	}
	return pieces
}
