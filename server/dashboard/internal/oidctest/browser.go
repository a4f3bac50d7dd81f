package oidctest

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
)

// SignIn does at the provider what a person does in a browser, from the address that a sign-in leads to. It returns the
// address that the provider sends the browser back to, which it does not open.
func (p *Provider) SignIn(t testing.TB, to, email string) *url.URL {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back *url.URL
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Scheme+"://"+r.URL.Host != p.Issuer {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page, err := client.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if back != nil {
		return back
	}
	form := url.Values{"id": {page.Request.URL.Query().Get("authRequestID")}, "email": {email}, "password": {Password}}
	answer, err := client.PostForm(page.Request.URL.String(), form)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if back == nil {
		t.Fatalf("the provider did not send the browser back: %s at %s", answer.Status, answer.Request.URL)
	}
	return back
}
