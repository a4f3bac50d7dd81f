package outbound

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const hidden = "[hidden]"

// Exchange sends a request as [Do] does, for services that say in the body of an
// answer what they mean by its status: it returns the answer, whose Body is
// closed, and the body also with an error of [CheckStatus]. An error hides the
// given secrets, which [Do] cannot know of when they are in the request's body.
func Exchange(client *http.Client, req *http.Request, secrets ...string) (*http.Response, []byte, error) {
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", UserAgent)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, Hide(Clean(err), secrets...)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxAnswer))
	// Before the text is cut, lest the beginning of a secret remains.
	shown := hide(string(body), secrets)
	return res, body, Hide(CheckStatus(res, []byte(shown), time.Now()), secrets...)
}

// Hide returns err with each of the secrets in its text replaced by "[hidden]",
// also where it is encoded as in a URL or in JSON. Secrets of fewer than 4 bytes
// tell nothing and are left alone. The result wraps err; it is err itself if
// nothing is to be hidden. Hide(nil) is nil.
func Hide(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	text := hide(err.Error(), secrets)
	if text == err.Error() {
		return err
	}
	return hiddenError{err, text}
}

func hide(text string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		quoted, _ := json.Marshal(secret)
		for _, form := range []string{
			secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret),
		} {
			text = strings.ReplaceAll(text, form, hidden)
		}
	}
	return text
}

// hiddenError is an error with another text.
type hiddenError struct {
	error
	text string
}

func (e hiddenError) Error() string { return e.text }
func (e hiddenError) Unwrap() error { return e.error }
