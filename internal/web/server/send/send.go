// Package send sends answers other than pages and documents: attached files and streams of events.
// The names, types and bytes of files come from outside: no browser may run anything of them in the
// name of the server.
package send

import (
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/projections/campaign"
)

// pictures are the media types that a page shows in place: browsers decode them and run nothing in
// them. SVG is excluded, since it holds scripts.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// IsPicture reports whether a page may show a file of a media type.
func IsPicture(mediaType string) bool { return slices.Contains(pictures, mediaType) }

// EventStream marks an answer as a stream of server-sent events, which proxies must not buffer or
// cache.
func EventStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	control.AtOnce(w.Header())
}

// File sends the bytes of a file. With inline, a browser shows a picture; everything else is saved
// under its name, and never opened in the server's own page. An error means that the answer was cut
// off: the reader found the bytes altered, or the client has gone.
func File(w http.ResponseWriter, f *campaign.File, content io.Reader, inline bool) error {
	h := w.Header()
	disposition, mediaType := "attachment", "application/octet-stream"
	if IsPicture(f.MediaType) {
		mediaType = f.MediaType
		if inline {
			disposition = "inline"
		}
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}))
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, err := io.Copy(w, content)
	return err
}
