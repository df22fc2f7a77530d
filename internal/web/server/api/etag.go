package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// tagged gives every answer of a GET an entity tag of its bytes, and answers 304 if the client has
// them already. Streams pass through unchanged.
//
// Answers of other methods are held back too: the library takes a client that disconnects, or does
// not read, during writing for a fault, and gives the answer a second status or panics.
//
// The tag covers the bytes, not the campaign's sequence: an answer depends on more than the log
// (models, the running process, the caller's rights), and a tag that did not change with these
// would keep a client on outdated data. It saves the transfer, not the work. 18 bytes of the
// SHA-256 are 24 characters without padding, and far more than chance can meet.
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

// has reports whether a header lists an entity tag. A weak tag counts: a GET compares weakly (RFC
// 9110, 13.1.2), and proxies that compress weaken tags.
func has(header, tag string) bool {
	tags := strings.Split(header, ",")
	return slices.ContainsFunc(tags, func(t string) bool {
		t = strings.TrimPrefix(strings.TrimSpace(t), "W/")
		return t == tag || t == "*"
	})
}

// holder holds an answer back until it is complete, unless it is a stream. Such answers are made in
// memory anyway; the log of a campaign, which is not, calls stream first. It belongs to one request
// and is used by one goroutine.
type holder struct {
	http.ResponseWriter
	status  int
	body    bytes.Buffer
	streams bool
}

// WriteHeader implements http.ResponseWriter: the status is held back with the answer.
func (h *holder) WriteHeader(status int) {
	if h.streams {
		h.ResponseWriter.WriteHeader(status)
		return
	}
	h.status = status
}

// Write implements http.ResponseWriter; it can fail only in a stream.
func (h *holder) Write(p []byte) (int, error) {
	if h.streams {
		return h.ResponseWriter.Write(p)
	}
	return h.body.Write(p)
}

// stream sends everything from now on as it comes, beginning with the held part. It cannot be
// undone: the status has been sent, and there will be no entity tag.
func (h *holder) stream() {
	h.streams = true
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	if h.body.Len() > 0 { // else the headers can still be set
		_, _ = h.ResponseWriter.Write(h.body.Bytes())
	}
}

// Unwrap gives [http.ResponseController] the underlying writer.
func (h *holder) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Flush implements http.Flusher: an answer that flushes is a stream.
func (h *holder) Flush() {
	if !h.streams {
		h.stream()
	}
	_ = http.NewResponseController(h.ResponseWriter).Flush()
}
