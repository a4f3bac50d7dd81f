// Package webhook delivers alerts by an HTTP request to a URL of the user's
// choice: it is the [channels.Notifier] of the kind [channels.Webhook].
//
//	notifier := webhook.New(nil)
//	mon, err := monitor.New(store, &monitor.Config{
//		Notifiers: map[channels.Kind]channels.Notifier{channels.Webhook: notifier},
//	})
//
// The settings come twice, for a check that goes down and for one that goes up:
// url_down, method_down, body_down, headers_down, and the same with _up. Without
// a URL for a change, nothing is sent about it. An optional secret signs all
// requests.
//
// # Request
//
// The method is POST unless the settings say PUT or GET; GET has no body. The
// body is that of the settings or, without one, the default document below. The
// Content-Type is application/json and the User-Agent rollcall, unless the
// headers of the settings say otherwise. The header Idempotency-Key has the
// identifier of the alert, which stays the same when the request is repeated.
// Which answers count as delivered, which redirects are followed and which
// addresses can be reached is that of package outbound: a status of 2xx is a
// delivery, and a receiver that does not answer within 30 seconds gets the
// request again.
//
// # Placeholders
//
// In the URL (but not its host), the values of headers and the body, these words
// are replaced:
//
//	$NAME $SLUG $PROJECT    of the check
//	$UUID, $CODE            the UUID of the check
//	$TAGS                   the tags, with a blank between them
//	$TAG1, $TAG2, ...       one tag; empty if there are fewer
//	$STATUS                 up or down
//	$REASON                 why, in a few words
//	$NOW                    the current time, such as 2026-01-02T03:04:05+00:00
//	$AT                     when the status changed, in the same form
//	$DOWNFOR                how many seconds the check was down; 0 in alerts that it is down
//	$EXITSTATUS             of the last ping, or -1
//	$BODY                   of the last ping, at most 10,000 bytes
//	$ID                     the identifier of the alert
//	$INCIDENT               the identifier of the period of being down
//	$JSON                   the object check of the default document
//
// Each but $JSON also exists with _JSON at its end, which stands for the value
// as JSON: a string with its quotes, a number for $DOWNFOR_JSON, and a number or
// null for $EXITSTATUS_JSON. So {"text": $NAME_JSON} is right, and
// {"text": "$NAME"} breaks on a name that contains a quote. Placeholders and
// formats are those of Healthchecks, with some more.
//
// The longest placeholder that fits counts, whatever follows it: $NAME_down is
// the name with _down after it. Other dollar signs stay. A value is not searched
// for placeholders again. In URLs, values are percent-encoded; in headers,
// control characters become blanks. There, values are cut at 1,000 characters.
//
// # Default document
//
//	{
//	  "id": "...",              // identifier of the alert
//	  "incident": "...",        // the same for all alerts of one period of being down
//	  "type": "check.down",     // or check.up
//	  "status": "down",         // or up
//	  "at": "2026-01-02T03:04:05+00:00",
//	  "reason": "...",
//	  "check": {
//	    "uuid", "name", "slug", "tags", "desc", "project", "timing", "url",  // texts
//	    "n_pings": 12, "status": "down", "last_ping": "..."                  // or null
//	  },
//	  "ping": {                 // the last ping, or null
//	    "at": "...", "kind": "fail", "exit_status": 1, "body": "..."         // exit_status: or null
//	  },
//	  "down_for": 0,            // seconds, when status is up
//	  "reminder": 0,            // counts the alerts that it is still down
//	  "over": null,             // when it came up, if it did so before this alert that it is down
//	  "earlier": [{"status": "up", "at": "...", "reason": "..."}],           // changes not told before
//	  "test": false             // a user tries the channel; the check is made up
//	}
//
// Keys may be added, so receivers should ignore those that they do not know.
//
// # Signature
//
// With the setting secret, requests are signed by the scheme of Standard
// Webhooks (symmetric, v1): webhook-id has the identifier of the alert,
// webhook-timestamp the time of this attempt in seconds since 1970, and
// webhook-signature is "v1," and the base64 of the HMAC-SHA256 over the two and
// the body, with full stops between. [Verify] checks it in receivers written in
// Go, and the libraries of Standard Webhooks in others. A secret is whsec_ and
// the base64 of 24 to 64 bytes, as those libraries want it, or any other text of
// at least 16 characters, which is the key as it stands. Of several secrets with
// blanks between them each makes a signature, so that a secret can be replaced
// while receivers still know the old one.
package webhook
