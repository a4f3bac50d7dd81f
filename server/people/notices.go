package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// kindNotice is the kind of the outbox of mails about changes: a record for each person and address.
const kindNotice = "notice"

const (
	// noticesAtOnce mails about changes go to an address within noticeSpan. Further changes wait, and leave in one mail.
	noticesAtOnce, noticeSpan = 5, time.Hour
	// noticeAge is how long a mail is tried. noticeMost bounds the changes that one mail lists.
	noticeAge, noticeMost = 72 * time.Hour, 50
	// noticeLease is how long another server leaves a mail alone that one is sending, and noticeTime how long that may take.
	noticeLease, noticeTime = time.Minute, 45 * time.Second
	// noticeEvery is how often Run looks for the changes that other servers and commands have made.
	noticeEvery = 5 * time.Second
	// tendEvery is how often Run looks through all people.
	tendEvery = time.Hour
	// noticeWait is the pause after a mail that could not be sent. It doubles up to noticeWaitMost.
	noticeWait, noticeWaitMost = 5 * time.Second, 10 * time.Minute
)

// notice is the record of the mails to an address of a person that are due, and of those that have left.
type notice struct {
	To      string         `json:"to"`
	Changes []noticeChange `json:"changes,omitempty"`
	// Left is how many changes are not among Changes. Last numbers the changes.
	Left     int         `json:"left,omitempty"`
	Last     int64       `json:"last"`
	Due      time.Time   `json:"due"`
	Attempts int         `json:"attempts,omitempty"`
	Sent     []time.Time `json:"sent,omitempty"` // the latest, oldest first
}

// noticeChange is what a mail says of one change.
type noticeChange struct {
	N       int64     `json:"n"`
	At      time.Time `json:"at"`
	What    []string  `json:"what"`
	By      string    `json:"by"`
	Address string    `json:"address,omitempty"`
	Browser string    `json:"browser,omitempty"`
}

type browserKey struct{}

// WithBrowser returns a context for the changes that are made in a browser, such as "Firefox on Linux". Mails about changes name it,
// so it must not be what the browser says of itself, which anybody can choose.
func WithBrowser(ctx context.Context, browser string) context.Context {
	return context.WithValue(ctx, browserKey{}, browser)
}

// credentials are the parts of a document that a person signs in with.
func (d *document) credentials() document {
	return document{
		Email: d.Email, Unverified: d.Unverified, Password: d.Password, TOTP: d.TOTP, Issuer: d.Issuer, Subject: d.Subject,
		Recovery: slices.Clone(d.Recovery), Passkeys: slices.Clone(d.Passkeys),
	}
}

// changedSince says what is different about how a person signs in, in sentences. It compares documents, so that no way to change one
// can be forgotten.
func (d *document) changedSince(before document) (list []string) {
	say := func(sentence string, when bool) {
		if when {
			list = append(list, sentence)
		}
	}
	say(fmt.Sprintf("The e-mail address was changed from %s to %s.", before.Email, d.Email), d.Email != before.Email)
	say("A password was set.", before.Password == "" && d.Password != "")
	say("The password was removed.", before.Password != "" && d.Password == "")
	say("The password was changed.", before.Password != d.Password && before.Password != "" && d.Password != "" && !d.same)
	say("An authenticator app was set up.", before.TOTP == "" && d.TOTP != "")
	say("The authenticator app was turned off, and its recovery codes have ended.", before.TOTP != "" && d.TOTP == "")
	say("The authenticator app was set up again.", before.TOTP != d.TOTP && before.TOTP != "" && d.TOTP != "" && !d.same)
	isNew := func(code string) bool { return !slices.Contains(before.Recovery, code) }
	switch n := len(d.Recovery); {
	case slices.ContainsFunc(d.Recovery, isNew):
		say("New recovery codes were created: "+prose.Count(n, "code")+".", true)
	case n < len(before.Recovery) && d.TOTP != "":
		say("A recovery code was used instead of the app. "+prose.Count(n, "recovery code")+" left.", true)
	}
	passkeys := func(n int, done string) {
		say("A passkey was "+done+".", n == 1)
		say(fmt.Sprintf("%d passkeys were %s.", n, done), n > 1)
	}
	passkeys(countMissing(d.Passkeys, before.Passkeys), "added")
	passkeys(countMissing(before.Passkeys, d.Passkeys), "removed")
	say(fmt.Sprintf("An account at %s was linked, which signs in to this account.", d.Issuer), d.Issuer != "" && (d.Issuer != before.Issuer || d.Subject != before.Subject))
	return list
}

// countMissing returns how many passkeys of one list are not in another.
func countMissing(list, in []Passkey) (n int) {
	for _, k := range list {
		if !slices.ContainsFunc(in, func(known Passkey) bool { return slices.Equal(known.ID, k.ID) }) {
			n++
		}
	}
	return n
}

// queueNotices queues mails about a change in its transaction: to the address of the person, and to the one from before. An address
// that is not verified may be somebody else's, and gets none. The person is locked.
func (p *People) queueNotices(ctx context.Context, tx records.Tx, before document, d *document, actor audit.Actor) error {
	what := d.changedSince(before)
	if len(what) == 0 {
		return nil
	}
	change := noticeChange{At: p.now().UTC(), What: what, By: actor.Words(), Address: actor.Address}
	if change.Browser, _ = ctx.Value(browserKey{}).(string); actor.Kind == audit.Person && actor.ID == d.ID.String() {
		change.By = "your own account"
	}
	var to []string
	if !before.Unverified {
		to = append(to, before.Email)
	}
	if !d.Unverified && !slices.Contains(to, d.Email) {
		to = append(to, d.Email)
	}
	for _, address := range to {
		if err := p.queueNotice(ctx, tx, d.ID, address, change); err != nil {
			return err
		}
	}
	p.queued.Store(true)
	return nil
}

func (p *People) queueNotice(ctx context.Context, tx records.Tx, person uuid.UUID, address string, change noticeChange) error {
	key := person.String() + " " + hashOf(address)[:16]
	n, _, err := p.lockNotice(ctx, tx, key)
	if err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	n.To = address
	if len(n.Changes) == 0 {
		n.Attempts, n.Due = 0, n.free(change.At)
	}
	n.Last++
	if change.N = n.Last; len(n.Changes) < noticeMost {
		n.Changes = append(n.Changes, change)
	} else {
		n.Changes[noticeMost-1], n.Left = change, n.Left+1 // the newest must not be missing
	}
	return p.saveNotice(ctx, tx, key, person, n)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lockNotice locks a notice and returns it with its person.
func (p *People) lockNotice(ctx context.Context, tx records.Tx, key string) (n notice, person uuid.UUID, err error) {
	kind := kindNotice
	found, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &kind, Key: &key})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return n, uuid.Nil, err
	}
	return n, found[0].Owner, json.Unmarshal(found[0].Value, &n)
}

// saveNotice stores a notice until it counts no more: until it is given up, or until the mails that have left do not limit others.
func (p *People) saveNotice(ctx context.Context, tx records.Tx, key string, person uuid.UUID, n notice) error {
	until := p.now()
	if len(n.Sent) > 0 {
		until = n.Sent[len(n.Sent)-1].Add(noticeSpan)
	}
	if len(n.Changes) > 0 {
		until = later(until, n.Changes[len(n.Changes)-1].At.Add(noticeAge+time.Hour))
	}
	value, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return tx.SaveRecords(ctx, p.now(), records.Record{Kind: kindNotice, Key: key, Owner: person, Value: value, Until: until})
}

// wake makes Run look for mails, if a change of this process has queued one.
func (p *People) wake() {
	if !p.queued.Swap(false) {
		return
	}
	select {
	case p.woken <- struct{}{}:
	default: // a signal is pending already
	}
}

// Run does the background work until ctx ends: it sends mails about changes, of any process on the database, if there is
// [Config].Mail; encrypts the secrets of authenticator apps with the newest key; and removes roles in projects that were
// deleted. One server of an installation suffices, and several share the work.
func (p *People) Run(ctx context.Context) {
	ticker := time.NewTicker(noticeEvery)
	defer ticker.Stop()
	var tended time.Time
	for failing := false; ; {
		var err error
		if tended.IsZero() || time.Since(tended) > tendEvery {
			if err = cmp.Or(p.sealAll(ctx), p.forgetProjects(ctx)); err == nil {
				tended = time.Now()
			}
		}
		if err = cmp.Or(err, p.Tick(ctx)); err != nil && ctx.Err() == nil && !failing {
			p.log.ErrorContext(ctx, "cannot do the background work on accounts", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-p.woken:
		case <-ticker.C:
		}
	}
}

// Tick sends the mails about changes that are due, for tests and programs that do not call [People.Run]. A mail that cannot be sent is
// no error: it stays, and is tried again for 72 hours.
func (p *People) Tick(ctx context.Context) error {
	if p.mail == nil {
		return nil
	}
	kind := kindNotice
	found, err := p.db.Records(ctx, p.now(), records.Query{Kind: &kind})
	if err != nil {
		return err
	}
	for _, r := range found {
		var n notice
		if err := json.Unmarshal(r.Value, &n); err != nil {
			return fmt.Errorf("people: notice %s: %w", r.Key, err)
		}
		if len(n.Changes) == 0 || n.Due.After(p.now()) {
			continue
		}
		if sent, err := p.sendNotice(ctx, r.Key); err != nil || !sent {
			return err // the mail server is away, or refuses this one for now: the others follow in the next round
		}
	}
	return nil
}

// sendNotice claims a notice and sends it. It reports false for one that could not be sent now.
func (p *People) sendNotice(ctx context.Context, key string) (sent bool, err error) {
	var n notice
	var id uuid.UUID
	err = p.db.Update(ctx, func(ctx context.Context, tx records.Tx) (err error) {
		if n, id, err = p.lockNotice(ctx, tx, key); err != nil {
			return err
		}
		if len(n.Changes) == 0 || n.Due.After(p.now()) {
			return checks.ErrNotFound // another server was first
		}
		n.Due, n.Attempts = p.now().Add(noticeLease), n.Attempts+1
		return p.saveNotice(ctx, tx, key, id, n)
	})
	if errors.Is(err, checks.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	person, err := p.ByID(ctx, id)
	if errors.Is(err, checks.ErrNotFound) {
		return true, nil // nobody is left to tell
	}
	if err != nil {
		return false, err
	}
	subject, text := p.noticeText(person, n)
	limited, cancel := context.WithTimeout(ctx, noticeTime)
	failure := p.mail(limited, n.To, subject, text)
	cancel()
	return failure == nil, p.recordNotice(context.WithoutCancel(ctx), key, n, failure, ctx.Err() != nil)
}

// recordNotice records how sending ended. Changes that were made meanwhile stay.
func (p *People) recordNotice(ctx context.Context, key string, sent notice, failure error, stopped bool) error {
	now := p.now().UTC()
	over := failure == nil || !stopped && now.Sub(sent.Changes[0].At) > noticeAge
	var person uuid.UUID
	err := p.db.Update(ctx, func(ctx context.Context, tx records.Tx) (err error) {
		var n notice
		if n, person, err = p.lockNotice(ctx, tx, key); err != nil {
			return err
		}
		if failure == nil {
			n.Sent = append(n.Sent[max(0, len(n.Sent)+1-noticesAtOnce):], now)
		}
		switch {
		case over:
			n.Changes = slices.DeleteFunc(n.Changes, func(c noticeChange) bool { return c.N <= sent.Last })
			n.Left, n.Attempts, n.Due = max(0, n.Left-sent.Left), 0, n.free(now)
		case stopped:
			n.Due, n.Attempts = now, n.Attempts-1
		default:
			n.Due = now.Add(min(noticeWaitMost, noticeWait<<min(n.Attempts-1, 10)))
		}
		return p.saveNotice(ctx, tx, key, person, n)
	})
	switch {
	case errors.Is(err, checks.ErrNotFound): // the person was deleted meanwhile
		return nil
	case failure != nil && over:
		p.log.WarnContext(ctx, "gave up a mail about a changed account", "person", person, "attempts", sent.Attempts, "error", failure)
	case failure != nil && !stopped && sent.Attempts == 1:
		p.log.WarnContext(ctx, "cannot send a mail about a changed account yet: it stays for 72 hours", "person", person, "error", failure)
	}
	return err
}

// free returns when the next mail may leave.
func (n *notice) free(now time.Time) time.Time {
	if len(n.Sent) < noticesAtOnce {
		return now
	}
	return later(now, n.Sent[len(n.Sent)-noticesAtOnce].Add(noticeSpan))
}

// noticeText returns a mail. Nothing in it was chosen by who made the change, and no link in it signs in.
func (p *People) noticeText(q Person, n notice) (subject, text string) {
	zone := time.UTC
	if loc, err := schedule.LoadLocation(q.Preferences.Zone); q.Preferences.Zone != "" && err == nil {
		zone = loc
	}
	subject = "Changes to your Rollcall account"
	if len(n.Changes) == 1 && len(n.Changes[0].What) == 1 && n.Left == 0 {
		subject = "Your Rollcall account: " + lowerFirst(strings.TrimSuffix(n.Changes[0].What[0], "."))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "How you sign in to your Rollcall account has changed.\n\n  Account: %s\n", q.Email)
	if p.url != "" {
		fmt.Fprintf(&b, "  Server:  %s\n", p.url)
	}
	for i, c := range n.Changes {
		if i == noticeMost-1 && n.Left > 0 {
			fmt.Fprintf(&b, "\n%s more. The latest:\n", prose.Count(n.Left, "change"))
		}
		fmt.Fprintf(&b, "\n%s\n\n  When:    %s\n  By:      %s\n", strings.Join(c.What, "\n"), stamp(c.At, zone), c.By)
		if from := strings.Trim(c.Address+", "+c.Browser, ", "); from != "" {
			fmt.Fprintf(&b, "  From:    %s\n", from)
		}
	}
	b.WriteString("\nIf you know of this, there is nothing to do.\n\nIf not, somebody else may be using your account. ")
	if q.Issuer != "" {
		fmt.Fprintf(&b, "Secure your account at %s first. ", q.Issuer)
	}
	if q.HasPassword {
		b.WriteString("Sign in and change the password under \"Your account\": that ends all other sessions. Check the authenticator app and the passkeys there too. ")
	} else {
		b.WriteString("Sign in, and check the passkeys and the sessions under \"Your account\". ")
	}
	b.WriteString("If you cannot sign in, ask an administrator at once to reset the password and the second factors of your account.\n")
	return subject, b.String()
}

// stamp writes an instant with its zone, so that nobody has to guess it.
func stamp(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	if zone == time.UTC {
		return t.Format("2 January 2006, 15:04:05 UTC")
	}
	return t.Format("2 January 2006, 15:04:05 UTC-07:00") + " (" + zone.String() + ")"
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }
