package request

import (
	"net/http"
	"strings"
)

// WantsPage reports whether a browser asks for a page: a GET or HEAD that accepts text/html by name.
func WantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}
