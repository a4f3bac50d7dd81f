// Package webhook delivers alerts as HTTP requests to URLs that users choose: the kind [channels.Webhook].
//
//	mon, err := monitor.New(store, &monitor.Config{Channels: []channels.Type{webhook.New(nil)}})
//
// The settings url_down, method_down, body_down and headers_down apply when a check goes down, those with _up when it
// comes up. Without a URL for a change, the channel does not report it. An optional secret signs all requests.
//
// # Request
//
// The method is POST, unless the settings say PUT or GET. The body is that of the settings or, without one, the default
// document below; a GET has none. The Content-Type is application/json and the User-Agent rollcall, unless the settings
// have other headers. The header Idempotency-Key is the identifier of the alert, which stays the same in a retry.
//
// Package outbound decides which addresses to allow and which redirects to follow. A 2xx answer completes the delivery.
// A receiver that does not answer within 30 seconds gets the request again.
//
// # Placeholders
//
// Notify replaces these words in the URL (but not in its host), in the values of headers and in the body:
//
//	$NAME $SLUG $PROJECT    of the check; a URL has the UUID in place of an empty slug
//	$UUID, $CODE            the UUID of the check
//	$TAGS                   the tags, separated by spaces
//	$TAG1, $TAG2, ...       one tag; empty if there are fewer
//	$STATUS                 up or down
//	$REASON                 why, in a few fixed words, such as: the job reported a failure, exit status 2
//	$CAUSE                  the line of the job's output that says why it failed; empty if there is none
//	$NOW                    the current time, such as 2026-01-02T03:04:05+00:00
//	$AT                     when the status changed, in the same form
//	$DOWNFOR                how many seconds the check was down; 0 if it is down
//	$EXITSTATUS             of the last ping, or -1
//	$DURATION               how many seconds the run took that the last ping ended, such as 41.02, or -1
//	$BODY                   of the last ping, at most 10,000 bytes
//	$BODYEND                the end of the body, at most 4,000 bytes
//	$ID                     the identifier of the alert
//	$INCIDENT               the identifier of the outage
//	$ACKURL                 the address of a page to acknowledge the outage; empty if there is none
//	$JSON                   the object check of the default document
//
// All but $JSON also exist with the suffix _JSON, which stands for the value as JSON: a string with quotes, a number
// for $DOWNFOR_JSON, and a number or null for $EXITSTATUS_JSON and $DURATION_JSON. So {"text": $NAME_JSON} is right, and {"text": "$NAME"}
// breaks on a name with a quote. The placeholders are those of Healthchecks and some more.
//
// The longest matching placeholder wins: $NAME_down is the name and then _down. Other dollar signs stay. Placeholders
// in values have no effect.
//
// In a header, control characters become spaces. In a URL, values are percent-encoded and add no dot segment to the
// path: a check named .. arrives as %2E%2E after the receiver has decoded the segment once. In both, values are cut at
// 1,000 characters.
//
// # Default document
//
//	{
//	  "id": "...",              // identifier of the alert
//	  "incident": "...",        // the same for all alerts about one outage
//	  "type": "check.down",     // or check.up
//	  "status": "down",         // or up
//	  "at": "2026-01-02T03:04:05+00:00",
//	  "reason": "...",
//	  "cause": "...",           // the line of the job's output that says why it failed, or ""
//	  "check": {
//	    "uuid", "name", "slug", "tags", "desc", "project", "timing", "url",  // texts
//	    "n_pings": 12, "status": "down", "last_ping": "..."                  // or null
//	  },
//	  "ping": {                 // the last ping, or null
//	    "at": "...", "kind": "fail", "exit_status": 1, "duration": 41.02,    // seconds; both: or null
//	    "body": "...", "body_end": "..."                                     // 10,000 bytes, the last 4,000 bytes
//	  },
//	  "down_for": 0,            // seconds, if status is up
//	  "reminder": 0,            // 1 and up: a reminder that the check is still down
//	  "over": null,             // when the check came up, if before this alert was sent
//	  "earlier": [{"status": "up", "at": "...", "reason": "..."}],           // changes not reported before
//	  "test": false,            // true: a user tries the integration, the check is made up
//	  "ack_url": "..."          // a page with a button to acknowledge the outage; missing if there is none
//	}
//
// Later versions may add keys, so receivers should ignore unknown ones.
//
// # Signature
//
// With the setting secret, requests are signed by the scheme of Standard Webhooks (symmetric, v1). The header
// webhook-id is the identifier of the alert, webhook-timestamp the time of this attempt in seconds since 1970, and
// webhook-signature "v1," and the base64 of an HMAC-SHA256 over these two and the body, joined by full stops.
//
// Receivers check it with [Verify], or with the libraries of Standard Webhooks in other languages. A secret is either
// whsec_ and the base64 of 24 to 64 bytes, as those libraries want it, or any other text of at least 16 characters,
// which is the key itself. Several secrets, separated by spaces, each make a signature, so a secret can be replaced
// while receivers still know the old one.
package webhook
