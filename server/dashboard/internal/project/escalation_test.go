package project_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestEscalation makes an escalation policy on its page, step by step.
func TestEscalation(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	page, b, editor, reader := s.Path("escalation"), s.Owner(), s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	b.Get(page).Is(http.StatusOK).Has("No integrations yet").HasNo("Add a step")
	settings := map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"}
	chat, phone := s.Channel("pager", "chat", settings), s.Channel("pager", "phone <b>", settings)
	policy := func() []gate.Step {
		t.Helper()
		steps, err := s.Mon.Project(s.Project.ID).Escalation(t.Context())
		pagetest.NoError(t, err)
		return steps
	}
	two := func(changes url.Values) url.Values {
		form := url.Values{"after": {"0", "15"}, "channel-1": {chat.ID.String()}, "channel-2": {phone.ID.String()}}
		for name, values := range changes {
			form[name] = values
		}
		return form
	}

	b.Get(page).Has("No policy", "Add a step").HasNo("Step 1", "t0psecret")
	b.Post(page, url.Values{"add": {"1"}}).Is(http.StatusOK).Has("Step 1", `value="0"`, "Not saved yet.").HasNo("Step 2", "checked")
	b.Post(page, url.Values{"add": {"1"}, "after": {"5"}, "channel-1": {chat.ID.String()}}).Is(http.StatusOK).Has("Step 2", `value="5"`, `value="20"`, " checked")
	b.Post(page, two(url.Values{"remove": {"1"}})).Is(http.StatusOK).Has("Step 1", `value="15"`, `name="channel-1" value="`+phone.ID.String(), " checked").HasNo("Step 2")
	if got := policy(); got != nil {
		t.Fatalf("adding and removing in the form saved %+v", got)
	}

	b.Post(page, two(nil)).Is(http.StatusSeeOther)
	b.Get(page).Has("Saved.", "Step 2", "phone &lt;b&gt;").HasNo("Not saved yet.")
	if got := policy(); len(got) != 2 || got[0].Channels[0] != chat.ID || got[1].After != 15*time.Minute || got[1].Channels[0] != phone.ID {
		t.Fatalf("%+v", got)
	}
	for _, other := range []*pagetest.Browser{editor, reader} {
		other.Get(page).Is(http.StatusOK).Has("at once", "after 15 min", "chat", "phone &lt;b&gt;").HasNo("Add a step", "<fieldset")
		other.Post(page, two(url.Values{"after": {"0", "20"}})).Is(http.StatusForbidden)
	}

	for want, form := range map[string]url.Values{
		`<a href="#after-2">Step 2 needs a time from 0 to 10080 minutes.</a>`:                two(url.Values{"after": {"0", "99999999999999999999"}}),
		`<a href="#after-1">Step 1 needs a time from 0 to 10080 minutes.</a>`:                two(url.Values{"after": {"-1", "10081"}}),
		`<a href="#after-2">Step 2 has to follow later than step 1.</a>`:                     two(url.Values{"after": {"15", "15"}}),
		`<a href="#channels-2">Step 2 has no integration: tick one, or remove the step.</a>`: two(url.Values{"channel-2": nil}),
		`<a href="#channels-1">Step 1 has no integration: tick one, or remove the step.</a>`: two(url.Values{"channel-1": {uuid.NewString(), "x"}}), // such as one that was deleted meanwhile
		`<a href="#channels-2">Step 2 has phone &lt;b&gt;, which step 1 has already.</a>`:    two(url.Values{"channel-1": {phone.ID.String()}}),
	} {
		b.Post(page, form).Is(http.StatusBadRequest).Has(want, `aria-invalid="true"`)
	}
	many := two(url.Values{"after": make([]string, 10), "add": {"1"}})
	b.Post(page, many).Is(http.StatusOK).Has("Step 10").HasNo("Step 11", "Add a step")
	if got := policy(); len(got) != 2 || got[1].After != 15*time.Minute {
		t.Errorf("refused forms changed the policy: %+v", got)
	}

	b.Post(page, nil).Is(http.StatusSeeOther)
	if got := policy(); got != nil {
		t.Errorf("removed: %+v", got)
	}
}
