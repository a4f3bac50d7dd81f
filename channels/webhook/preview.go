package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

// preview returns the request for a notification as text: its method and URL, its headers, and its body, with line breaks if that is
// JSON. The rest of a URL after the host, the values of headers from the settings and signatures can be secret, so each is "…".
// Without any URL it returns the request that a URL would get.
func (w *notifier) preview(c channels.Channel, n channels.Notification) string {
	settings, direction := maps.Clone(c.Settings), string(n.Status)
	target := settings["url_"+direction]
	if target == "" && (settings["url_down"] != "" || settings["url_up"] != "") {
		return ""
	}
	signed := settings["secret"] != ""
	delete(settings, "secret")
	now := w.now().UTC()
	req, err := newRequest(context.Background(), settings, cmp.Or(target, "https://receiver.example/"), n, now)
	if err != nil {
		return "" // the settings are not valid, and the form says so
	}
	req.Header.Set("User-Agent", "rollcall")
	for line := range strings.Lines(settings["headers_"+direction]) {
		if name, _, found := strings.Cut(line, ":"); found {
			req.Header.Set(name, "…")
		}
	}
	if signed {
		req.Header.Set(headerID, req.Header.Get("Idempotency-Key"))
		req.Header.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
		req.Header.Set(headerSignature, version+"…")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", req.Method, shown(target))
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, req.Header.Get(name))
	}
	body, _ := io.ReadAll(req.Body) // a text, which can be read
	if len(body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", indented(body))
	}
	return b.String()
}

// shown returns a URL with the scheme and the host alone.
func shown(target string) string {
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return "https://…"
}

// indented returns JSON with line breaks, and another body as it is.
func indented(body []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return body
	}
	return b.Bytes()
}
