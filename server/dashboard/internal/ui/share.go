package ui

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// share answers an open page that asks again, with what another viewer of the same page got if there is such an answer.
func (q *Request) share(h Handler) error {
	if strings.Contains(q.R.URL.Path, "/keys") { // they say which key the viewer has signed in with
		return h(q)
	}
	page, found := q.live.Shared.Find(q.Version, q.shareKey())
	switch {
	case page == nil:
		return h(q)
	case found:
		select {
		case <-page.Done:
		case <-q.Ctx().Done():
			return q.Ctx().Err()
		}
		if page.Status == 0 {
			return h(q)
		}
		maps.Copy(q.W.Header(), page.Header)
		q.W.WriteHeader(page.Status)
		_, _ = q.W.Write(page.Body)
		return nil
	}
	defer close(page.Done)
	cookies := len(q.W.Header()["Set-Cookie"]) // of the session; a page with more is for one viewer
	recorder := &pageRecorder{ResponseWriter: q.W}
	q.W = recorder
	err := h(q)
	if err == nil && recorder.status == http.StatusOK && len(recorder.Header()["Set-Cookie"]) == cookies {
		page.Header = recorder.Header().Clone()
		page.Header.Del("Set-Cookie")
		page.Body, page.Status = recorder.body.Bytes(), recorder.status
	}
	return err
}

// shareKey names everything that a page depends on besides the state of the project.
func (q *Request) shareKey() string {
	clock, gzip := q.Clock(), strings.Contains(q.R.Header.Get("Accept-Encoding"), "gzip")
	return fmt.Sprintf("%q %q %v %v %v %q %v", q.R.URL.Path, q.R.URL.RawQuery, clock.Zone, clock.TwelveHours, gzip, q.Viewer(), q.Access.Projects) + q.R.Header.Get(RowsHeader)
}

// RowsHeader is the header with which an open list says which rows it has, so that it gets only what differs.
const RowsHeader = "Rollcall-Rows"

// pageRecorder keeps a copy of an answer.
type pageRecorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *pageRecorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *pageRecorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] find the writer.
func (r *pageRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
