package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// tagged gives every answer of a GET an entity tag of its bytes, and answers
// 304 where the client has them already. Streams pass through as they are.
//
// Answers of other methods are held back too: the library takes a client that
// goes, or does not read, while it writes for a fault, and gives the answer a
// second status or panics.
//
// The tag is of the bytes, not of the sequence of the campaign: an answer
// depends on more than the log (models, who runs it, the caller's rights), and
// a tag that did not change with these would show a client what is no longer
// so. It saves the way to the client, not the work. 18 bytes of the SHA-256 are
// 24 characters without padding, and far more than chance can meet.
func tagged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := &holder{ResponseWriter: w}
		next.ServeHTTP(h, r)
		if h.streams {
			return
		}
		if h.status == 0 {
			h.status = http.StatusOK
		}
		if h.status == http.StatusOK && r.Method == http.MethodGet {
			sum := sha256.Sum256(h.body.Bytes())
			tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
			w.Header().Set("ETag", tag)
			w.Header().Set("Cache-Control", "no-cache, private") // kept, and asked about each time
			if has(r.Header.Get("If-None-Match"), tag) {
				w.Header().Del("Content-Type")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.WriteHeader(h.status)
		_, _ = w.Write(h.body.Bytes())
	})
}

// has reports whether a header of entity tags names one. A weak tag counts: a
// GET compares weakly (RFC 9110, 13.1.2), and proxies that compress weaken
// tags.
func has(header, tag string) bool {
	tags := strings.Split(header, ",")
	return slices.ContainsFunc(tags, func(t string) bool {
		t = strings.TrimPrefix(strings.TrimSpace(t), "W/")
		return t == tag || t == "*"
	})
}

// holder holds an answer back until it is whole, unless it is a stream. What it
// holds was made in memory anyway; the log of a campaign, which is not, calls
// stream first. It belongs to one request and is used by one goroutine.
type holder struct {
	http.ResponseWriter
	status  int
	body    bytes.Buffer
	streams bool
}

// WriteHeader implements http.ResponseWriter: while the answer is held back,
// the status is too.
func (h *holder) WriteHeader(status int) {
	if h.streams {
		h.ResponseWriter.WriteHeader(status)
		return
	}
	h.status = status
}

// Write implements http.ResponseWriter; it fails only where the answer is a
// stream.
func (h *holder) Write(p []byte) (int, error) {
	if h.streams {
		return h.ResponseWriter.Write(p)
	}
	return h.body.Write(p)
}

// stream sends what is written from now on as it comes, beginning with what was
// held back. It cannot be undone: the status has gone, and no entity tag is
// given.
func (h *holder) stream() {
	h.streams = true
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	if h.body.Len() > 0 { // else the headers can still be set
		_, _ = h.ResponseWriter.Write(h.body.Bytes())
	}
}

// Unwrap lets [http.ResponseController] find what is below.
func (h *holder) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Flush implements http.Flusher: what flushes is a stream.
func (h *holder) Flush() {
	if !h.streams {
		h.stream()
	}
	_ = http.NewResponseController(h.ResponseWriter).Flush()
}
