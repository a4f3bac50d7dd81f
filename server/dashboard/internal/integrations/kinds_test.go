package integrations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// choices matches the kinds on the page of a new integration: where each leads, its mark, name and words.
var choices = regexp.MustCompile(`<li><a href="\?kind=(\w+)"><i[^>]*>(.*?)</i><b>(.*?)</b> <small>(.*?)</small>`)

// standardSite is a site on which all kinds are those of Rollcall, as a server without any flag has them.
func standardSite(t *testing.T) *pagetest.Site {
	t.Helper()
	types, err := standard.New(&standard.Config{AllowPrivateNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	return pagetest.New(t, func(c *pagetest.Config) { c.Monitor = monitor.Config{Channels: types} })
}

// names returns the kinds of a page in their order.
func names(body string) (list []string) {
	for _, found := range choices.FindAllStringSubmatch(body, -1) {
		list = append(list, found[1])
	}
	return list
}

// TestKindsPage shows common kinds first, the others by name, each with a mark and at most five words, and in one line those that are
// not set up.
func TestKindsPage(t *testing.T) {
	b := standardSite(t)
	page := b.SignedIn(b.Keys.ReadWrite).Get(b.Path("integrations/new")).Is(http.StatusOK)
	page.Has("2 kinds are not set up on this server", `<a href="?kind=email">E-mail</a>: no mail server is configured on this server`, "no key for Web Push").
		HasNo("Not configured")
	all := choices.FindAllStringSubmatch(page.Body, -1)
	common := strings.Fields("slack teams telegram discord pagerduty ntfy webhook") // without e-mail, which is not set up
	if got := names(page.Body)[:len(common)]; !slices.Equal(got, common) {
		t.Errorf("common kinds are %v", got)
	}
	titles := []string{}
	for i, found := range all {
		if words := len(strings.Fields(found[4])); words < 1 || words > 5 || strings.HasSuffix(found[4], "…") || found[2] == "" {
			t.Errorf("%s has the mark %q and the words %q", found[1], found[2], found[4])
		}
		if i >= len(common) {
			titles = append(titles, strings.ToLower(found[3]))
		}
	}
	if len(all) != len(standard.Kinds())-3 || !slices.IsSorted(titles) { // e-mail, Web Push and shell
		t.Errorf("%d kinds, the others are %v", len(all), titles)
	}
	b, _ = pagetest.WithReceiver(t)
	page = b.SignedIn(b.Keys.ReadWrite).Get(b.Path("integrations/new")).Is(http.StatusOK).HasNo("not set up")
	if first := names(page.Body)[0]; first != "email" {
		t.Errorf("the first kind is %s", first)
	}
}

// TestKindsSearch finds kinds by what people type, the best first.
func TestKindsSearch(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	for text, want := range map[string]string{
		"Teams": "teams", "microsoft": "teams", "Slack": "slack", "SMS": "sms", "text": "sms", "phone": "ntfy call sms webpush whatsapp", "e-mail": "email", "mail": "email",
		"gmail": "email", "email": "email", "webhook": "webhook", "http": "webhook", "URL": "webhook", "opsgenie": "jsm opsgenie", "jira": "jsm", "victorops": "splunkoncall",
		"feishu": "lark", "twilio": "call sms whatsapp", "aws": "sns", "pager duty": "pagerduty", "google chat": "googlechat", "prometheus": "alertmanager", "iphone": "bark",
	} {
		found := names(b.Get(s.Path("integrations/new?q=" + url.QueryEscape(text))).Is(http.StatusOK).Body)
		wanted := strings.Fields(want)
		if len(found) < len(wanted) {
			t.Errorf("%q finds %v, want %v", text, found, wanted)
			continue
		}
		first := found[:len(wanted)]
		slices.Sort(first)
		slices.Sort(wanted)
		if diff := cmp.Diff(wanted, first); diff != "" {
			t.Errorf("%q finds %v: %s", text, found, diff)
		}
	}
	if found := names(b.Get(s.Path("integrations/new?q=incident")).Body); len(found) < 8 {
		t.Errorf("a category finds %v", found)
	}
	plain := standardSite(t)
	plain.SignedIn(plain.Keys.ReadWrite).Get(plain.Path("integrations/new?q=gmail")).Is(http.StatusOK).
		Has(`<details class="more" open>`, "1 kind is not set up on this server", "?kind=email").HasNo("No matches")
}

// TestAdvanced: a form shows what is required, or what matters, and folds the rest below its values. What is wrong in there opens it.
func TestAdvanced(t *testing.T) {
	s := standardSite(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	inputs := regexp.MustCompile(`(?s)name="s\.(\w+)"|<details class="advanced"`)
	for kind, want := range map[string]string{
		"webhook": "url_down url_up", "slack": "webhook_url", "telegram": "token chats", "ntfy": "topic", "email": "to", "pagerduty": "routing_key",
		"sms": "to account_sid auth_token from", "zulip": "site email api_key stream", "nextcloudtalk": "server_url rooms username password",
		"group": "", "webex": "webhook_url",
	} {
		var shown []string
		for _, found := range inputs.FindAllStringSubmatch(b.Get(s.Path("integrations/new?kind="+kind)).Is(http.StatusOK).Has(`<details class="advanced"><summary>`).Body, -1) {
			if found[1] == "" {
				break
			}
			shown = append(shown, found[1])
		}
		if diff := cmp.Diff(strings.Fields(want), shown); diff != "" && want != strings.Join(shown, " ") {
			t.Errorf("%s shows (-want +got):\n%s", kind, diff)
		}
	}
	path := s.Path("integrations/new?kind=webhook")
	b.Get(path).Has("<small>method down POST, method up POST, notify down and up</small>", "With the secret, which you choose and give to it too")
	form := url.Values{"name": {"hook"}, "s.url_down": {"https://example.org/hook"}, "s.method_down": {"PUT"}, "s.secret": {"tiny7"}, "s.notify": {"down"}, "use": {"none"}}
	b.Post(path, form).Is(http.StatusBadRequest).Has(`<details class="advanced" open>`, `<a href="#s-secret">Secret is too short`).HasNo("tiny7")
	form.Set("s.secret", "long-enough-for-a-secret")
	made := created(s, b.Post(path, form))
	b.Get(s.Path("integrations/"+made.ID.String())).Has("<small>method down PUT, method up POST, secret set, notify down only</small>", `<details class="advanced"><summary>`).HasNo("long-enough")
}

// TestPreview shows what an integration sends: by its stored settings, by what is typed, and for kinds without a text of their own what
// alerts have in common. No secret is in it.
func TestPreview(t *testing.T) {
	s := standardSite(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get(s.Path("integrations/new?kind=slack")).Has("What an alert says", "DOWN: nightly-backup\n", "no space left on device").HasNo("Update the preview")
	b.Get(s.Path("integrations/new?kind=email")).Has("What it sends", "Subject: DOWN: nightly-backup")
	b.Get(s.Path("integrations/new?kind=group")).Has("What an alert says", "depends on the receiver")
	path := s.Path("integrations/new?kind=webhook")
	b.Get(path).Has("POST https://…\n", "&#34;name&#34;: &#34;nightly-backup&#34;")
	typed := url.Values{"action": {"preview"}, "name": {"hook"}, "s.url_down": {"https://example.org/s3cret"}, "s.method_down": {"PUT"}, "s.body_down": {"$NAME is $STATUS"},
		"s.headers_down": {"X-Token: s3cret"}}
	b.Post(path, typed).Is(http.StatusOK).Has("PUT https://example.org/…\n", "X-Token: …\n", "\n\nnightly-backup is down</pre>", `value="hook"`).HasNo("s3cret", "Not saved")
	if list, err := s.Mon.Project(s.Project.ID).Channels(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("a preview saved %v, %v", list, err)
	}
	typed.Set("s.headers_down", "no colon")
	b.Post(path, typed).Is(http.StatusOK).Has("Correct the settings to see what they send.", "Update the preview").HasNo("s3cret")
	typed.Set("s.headers_down", "X-Token: s3cret")
	typed.Del("action")
	typed.Set("use", "none")
	made := created(s, b.Post(path, typed))
	stored := s.Path("integrations/" + made.ID.String())
	b.Get(stored).Has("PUT https://example.org/…\n", "nightly-backup is down</pre>").HasNo("s3cret")
	b.Post(stored, url.Values{"action": {"preview"}, "name": {"hook"}, "s.method_down": {"PUT"}, "s.body_down": {"$STATUS: $NAME"}}).Is(http.StatusOK).
		Has("PUT https://example.org/…\n", "down: nightly-backup</pre>").HasNo("s3cret")
	b.Post(stored, url.Values{"action": {"preview"}, "name": {"hook"}, "s.notify": {"up"}, "s.url_up": {"https://example.org/up"}, "s.url_down": {"https://example.org/x"}, "s.headers_down": {"A: b"}}).
		Is(http.StatusOK).Has("is up again.", "&#34;status&#34;: &#34;up&#34;")

	c, err := s.Mon.Project(s.Project.ID).CreateChannel(t.Context(), channels.Channel{
		Kind: channels.Webhook, Settings: map[string]string{"url_down": "https://example.org/", "body_down": "hidden body"}, Sources: map[string]string{"body_down": "file body.txt"},
	})
	pagetest.NoError(t, err)
	b.Get(s.Path("integrations/" + c.ID.String())).Is(http.StatusOK).HasNo("hidden body")
}

// TestAnswer shows below the form what a receiver answered to a test alert.
func TestAnswer(t *testing.T) {
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, "<b>taken</b>\nthanks")
	}))
	defer receiver.Close()
	s := standardSite(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	form := url.Values{"action": {"test"}, "s.url_down": {receiver.URL + "/hook"}}
	page := b.Post(s.Path("integrations/new?kind=webhook"), form).Is(http.StatusOK).Has("Test alert sent", "The receiver answered 200 OK: &lt;b&gt;taken&lt;/b&gt;</p>")
	if strings.Index(page.Body, `id="result"`) < strings.Index(page.Body, "</form>\n<div class=\"verdict") {
		t.Error("the result does not stand below the form")
	}
	status = http.StatusTeapot
	b.Post(s.Path("integrations/new?kind=webhook"), form).Is(http.StatusOK).Has("Test alert failed", "the receiver answered with status 418 I&#39;m a teapot: &lt;b&gt;taken")
}
