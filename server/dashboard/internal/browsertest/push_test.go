package browsertest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels/webpush"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// subscription is what a push service and a browser would make: the browser of a test reaches no push service.
const subscription = `{"endpoint":"https://push.example.org/wpush/v2/0123456789abcdef","expirationTime":null,"keys":{` +
	`"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`

// pretend puts a push service into the page, which keeps what it was asked for in window.asked.
func pretend(page *browsertest.Page) {
	browsertest.Eval[any](page, `void (PushManager.prototype.subscribe = async function (options) {
		const key = String.fromCharCode(...new Uint8Array(options.applicationServerKey))
		window.asked = { visible: options.userVisibleOnly, key: btoa(key).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '') }
		const registration = await navigator.serviceWorker.getRegistration()
		window.asked.scope = new URL(registration.scope).pathname
		window.asked.worker = new URL(registration.active.scriptURL).pathname
		return { toJSON: () => (`+subscription+`) }
	})`)
}

// TestSubscribe subscribes a browser on the page of a new integration, and gets a message.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.Permit("notifications", true)
	page.Go(s.path("integrations/new?kind=webpush"))
	page.WaitText("#subscribe", "The browser will ask")
	pretend(page)
	page.Click("#subscribe button")
	page.WaitText("#subscribe", "This browser is subscribed")
	key, err := webpush.PublicKey(pushSecret)
	s.must(err)
	type asked struct {
		Visible            bool
		Key, Scope, Worker string
	}
	if diff := cmp.Diff(asked{true, key, "/", "/push.js"}, browsertest.Eval[asked](page, "asked")); diff != "" {
		t.Errorf("subscribed with (-want +got):\n%s", diff)
	}
	page.Axe()
	page.Type("#name", "laptop")
	page.Submit("main form.form .primary")
	page.WaitText("main", "laptop created")
	list, err := s.mon.Project(s.project.ID).Channels(t.Context())
	s.must(err)
	if len(list) != 1 || list[0].Settings["subscription"] != subscription {
		t.Errorf("integrations: %v", list)
	}
	if strings.Contains(browsertest.Eval[string](page, "document.documentElement.outerHTML"), "BTBZMqHH6r4Tts7J") {
		t.Error("the page shows the stored subscription")
	}
	for message, want := range map[string]browsertest.Notification{
		`{"title":"DOWN: backup","text":"Down since noon.","url":"","tag":"0123"}`: {Title: "DOWN: backup", Body: "Down since noon.", Tag: "0123"},
		`{"title":"UP: backup","text":"Up.","url":"","tag":"0123"}`:                {Title: "UP: backup", Body: "Up.", Tag: "0123"},
		`no document`: {Title: "Rollcall"},
	} {
		if diff := cmp.Diff(want, page.Push("/", message)); diff != "" {
			t.Errorf("the notification for %s (-want +got):\n%s", message, diff)
		}
	}
}

// TestSubscribeProblems shows what the form says where a browser cannot subscribe.
func TestSubscribeProblems(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := s.path("integrations/new?kind=webpush")
	page := s.browser(s.keys.ReadWrite)
	page.Permit("notifications", true)
	page.Go(form)
	page.WaitText("#subscribe", "The browser will ask")
	browsertest.Eval[any](page, `void (PushManager.prototype.subscribe = () => Promise.reject(new DOMException('push service error', 'AbortError')))`)
	page.Click("#subscribe button")
	page.WaitText("#subscribe", "The browser did not subscribe: push service error")

	page.Permit("notifications", false)
	page.Go(form)
	page.WaitText("#subscribe", "This browser blocks notifications of this site.")
	if page.Count("#subscribe button:not([hidden])") != 0 {
		t.Error("the button is there without the permission")
	}
	for script, want := range map[string]string{
		"Object.defineProperty(window, 'isSecureContext', { value: false })": "only subscribe on a page with https",
		"delete window.PushManager": "add the page to the Home Screen",
	} {
		page := s.browser(s.keys.ReadWrite)
		page.BeforeScripts(script)
		page.Go(form)
		page.WaitText("#subscribe", want)
	}
	page.NoScript()
	page.Go(form)
	page.WaitText("#subscribe", "enable JavaScript and open this page over https or on localhost")
	if page.Count("#subscribe button:not([hidden])") != 0 {
		t.Error("the button is there without JavaScript")
	}
	page.Type("#s-subscription", subscription)
	page.Submit("main form.form .primary")
	page.WaitText("main", " created.")
}

// TestClick runs the code of the service worker in a page. A click on a notification shows the page of the check, in the
// window that has it open if there is one. A browser allows that only for clicks of a person.
func TestClick(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	answer, err := http.Get(s.url + "/push.js")
	s.must(err)
	defer answer.Body.Close()
	code, err := io.ReadAll(answer.Body)
	s.must(err)
	page := s.browser(s.keys.ReadWrite)
	click := func(url, open string) string {
		return browsertest.Eval[string](page, `(async () => {
			const heard = {}, did = []
			let shown, work
			const self = {
				addEventListener: (name, f) => { heard[name] = f },
				registration: {
					scope: 'https://ops.example.org/',
					showNotification: async (title, options) => { shown = options },
				},
				clients: {
					matchAll: async () => [{ url: `+browsertest.Quote(open)+`, focus: () => did.push('focus') }],
					openWindow: (url) => did.push('open ' + url),
				},
			}
			`+string(code)+`
			heard.push({ data: { json: () => ({ title: 'DOWN', tag: '1', url: `+browsertest.Quote(url)+` }) }, waitUntil: (p) => { work = p } })
			await work
			did.push('again ' + shown.renotify)
			heard.notificationclick({ notification: { ...shown, close: () => did.push('close') }, waitUntil: (p) => { work = p } })
			await work
			return did.join(', ')
		})()`)
	}
	const check = "https://ops.example.org/checks/1"
	for _, test := range []struct{ url, open, want string }{
		{check, "https://ops.example.org/", "open " + check},
		{check, check, "focus"},
		{"", check, "open https://ops.example.org/"},
		{"javascript:alert(1)", check, "open https://ops.example.org/"},
	} {
		if got, want := click(test.url, test.open), "again true, close, "+test.want; got != want {
			t.Errorf("a click for %q with %q open: %s, want %s", test.url, test.open, got, want)
		}
	}
}
