package services_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// pretend starts a server that gets the requests to all hosts, with the rules of a service. The handler sees the URL
// that was meant.
func pretend(t *testing.T, rules http.HandlerFunc) *service {
	t.Helper()
	s := &service{t: t}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		meant, err := url.Parse(r.Header.Get("X-Meant"))
		if err != nil {
			t.Error(err)
		}
		r.URL = meant
		rules(w, r)
	}))
	t.Cleanup(s.server.Close)
	s.client = outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	t.Cleanup(s.client.CloseIdleConnections)
	s.client.Transport = redirect{s.client.Transport, s.server.Listener.Addr().String()}
	return s
}

// direct answers the requests of a client without a connection. The answer is lost if the rules panic with
// [http.ErrAbortHandler].
type direct struct{ rules http.HandlerFunc }

func (d direct) RoundTrip(req *http.Request) (res *http.Response, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			res, err = nil, io.ErrUnexpectedEOF
		default:
			panic(p)
		}
	}()
	w, received := httptest.NewRecorder(), req.Clone(req.Context())
	if received.Body == nil {
		received.Body = http.NoBody
	}
	d.rules(w, received)
	return w.Result(), nil
}

// decode reads a JSON body whose fields a service knows: others are an error, as is a body that is not JSON.
func decode(r *http.Request, fields any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return d.Decode(fields)
}

func reply(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
