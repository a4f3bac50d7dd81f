package services

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// request is an HTTP request of a service.
type request struct {
	method string // default POST
	url    string
	header map[string]string
	form   url.Values // the body, unless nil
	json   any        // otherwise the body, to encode as JSON, unless nil
	// sign, unless nil, adds a signature to the request, which has everything else.
	sign func(req *http.Request, body []byte) error
}

// do sends a request and returns the body of the answer, also with an error: in it, services explain the status.
func (m *delivery) do(ctx context.Context, r request) ([]byte, error) {
	_, answer, err := m.fetch(ctx, r)
	return answer, err
}

// fetch is do for services that explain a status in a header. The body of the response is closed.
func (m *delivery) fetch(ctx context.Context, r request) (*http.Response, []byte, error) {
	var contentType string
	var body []byte
	switch {
	case r.form != nil:
		contentType, body = "application/x-www-form-urlencoded", []byte(r.form.Encode())
	case r.json != nil:
		var err error
		if body, err = compact(r.json); err != nil {
			return nil, nil, channels.Permanent(err)
		}
		contentType = "application/json"
	}
	if r.method == "" {
		r.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, outbound.Clean(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.sign != nil {
		if err := r.sign(req, body); err != nil {
			return nil, nil, err
		}
	}
	return m.exchange(req)
}

// compact returns a value as JSON without the escapes for HTML, which take six bytes a character.
func compact(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// exchange sends a request and reads the answer.
func (m *delivery) exchange(req *http.Request) (*http.Response, []byte, error) {
	return outbound.Exchange(m.client, req, m.secrets...)
}

// refused returns the error of a service that answered 200 and refused the message. It cuts the text as package
// outbound does.
func refused(code any, text string) error {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return fmt.Errorf("the service refuses the message: %v %s", code, text)
}

var errAnswer = errors.New("the answer is not in the format of this service, check the URL")

// join appends escaped segments to the path of a valid URL.
func join(base string, segments ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(base, "/"))
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// authorize adds the token of a channel, or its username and password, if it has them; see tokenOrPassword. It returns a
// new map for nil.
func (m *delivery) authorize(header map[string]string) map[string]string {
	if header == nil {
		header = make(map[string]string)
	}
	switch {
	case m.settings["token"] != "":
		header["Authorization"] = bearer(m.settings["token"])
	case m.settings["username"] != "":
		header["Authorization"] = basic(m.settings["username"], m.settings["password"])
	}
	return header
}

func bearer(token string) string { return "Bearer " + token }

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
