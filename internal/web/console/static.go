package console

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// staticFiles serves the embedded files. Browsers keep those asked for by this
// build's edition for ever; asked for otherwise, they follow the gate's rule
// for all answers, and are not kept. The folder itself is not listed.
func staticFiles() http.Handler {
	files := http.FileServerFS(staticFolder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/static/" {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("v") == edition() {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		w.Header().Set("Vary", "Accept-Encoding")
		name := strings.TrimPrefix(r.URL.Path, "/")
		if packed, ok := packedFiles()[name]; ok && acceptsGzip(r) {
			w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed) // the visitor may have gone
			return
		}
		files.ServeHTTP(w, r)
	})
}

// acceptsGzip reports whether a browser says that it reads gzip.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(name, "gzip") && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}

// packedFiles are the embedded scripts and stylesheets, packed once. They hold
// no secret, which packing could give away.
var packedFiles = sync.OnceValue(func() map[string][]byte {
	packed := make(map[string][]byte)
	names, err := fs.Glob(staticFolder, "static/*.*s") // .js and .css
	if err != nil {
		panic(err) // embedded
	}
	for _, name := range names {
		text, err := staticFolder.ReadFile(name)
		if err != nil {
			panic(err)
		}
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			panic(err) // the level exists
		}
		_, _ = w.Write(text) // to memory
		_ = w.Close()
		packed[name] = b.Bytes()
	}
	return packed
})
