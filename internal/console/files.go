package console

import (
	"net/http"
	"strings"
)

// Uploads reports whether a request is a form with files, whose body is read
// piece by piece by the page alone.
func Uploads(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, "/campaigns/")
	_, what, _ := strings.Cut(path, "/")
	return ok && r.Method == http.MethodPost && (what == "attach" || what == "tell") &&
		strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
}
