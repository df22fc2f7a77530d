package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Attachment is a file as the log names it: by the digest of its bytes, which
// are kept next to the store's events (package events/filestore), or by a URI,
// where they stay elsewhere.
type Attachment struct {
	// Name of the file at its origin, without folders.
	Name string `json:"name"`
	// MediaType of the content, for example "text/csv"; empty where it is unknown.
	MediaType string `json:"media_type,omitempty"`
	// Digest is that of its bytes, as [DigestOf] writes it. A file that stays
	// elsewhere need not have one.
	Digest string `json:"digest,omitempty"`
	// Size is how many bytes it has, at least one; 0 where the size of a file
	// that stays elsewhere is not known.
	Size int64 `json:"size,omitempty"`
	// URI says where it is, of a file that is not kept; empty of one that is.
	URI string `json:"uri,omitempty"`
	// Quantity names the measured quantity that it belongs to, or is empty.
	Quantity string `json:"quantity,omitempty"`
	// Comment on the file.
	Comment string `json:"comment,omitempty"`
}

// FileAttached says that a file belongs to an experiment, or to the campaign.
// The bytes of one that is kept were on the disk before.
type FileAttached struct {
	// File is the identifier, "f1", "f2", … in order.
	File string `json:"file"`
	// Experiment is the one that it belongs to; empty where it is the
	// campaign's.
	Experiment string `json:"experiment,omitempty"`
	Attachment
}

// FileWithdrawn is a person's word that a file does not count: it was attached
// by mistake, or to something else. The earlier event stays, and so do the
// bytes.
type FileWithdrawn struct {
	File string `json:"file"`
	// Experiment is that of the file.
	Experiment string `json:"experiment,omitempty"`
	// Reason is the person's reason; it is required.
	Reason string `json:"reason"`
}

// Subject implements Payload.
func (p FileAttached) Subject() string  { return p.Experiment }
func (p FileWithdrawn) Subject() string { return p.Experiment }

// Kept reports whether the bytes of the file are kept with the store.
func (a Attachment) Kept() bool { return a.URI == "" }

// digestPrefix names the hash in a digest, so that another one can follow.
const digestPrefix = "sha256:"

// DigestOf writes the SHA-256 hash of a file's bytes as a digest:
// "sha256:" and 64 hexadecimal digits.
func DigestOf(sum [sha256.Size]byte) string { return digestPrefix + hex.EncodeToString(sum[:]) }

// HashIn returns the hash in a digest, as hexadecimal digits. It is empty for invalid digests, so
// that a result that is not empty can safely name a file.
func HashIn(digest string) string {
	text, ok := strings.CutPrefix(digest, digestPrefix)
	sum, err := hex.DecodeString(text)
	if !ok || err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != text {
		return ""
	}
	return text
}

// What an attachment may hold at most.
const (
	maxFileName  = 255      // bytes, as file systems have it
	maxMediaType = 100      // bytes
	maxURI       = 4 << 10  // bytes
	maxFileWords = 64 << 10 // bytes of a comment on a file
)

// Fault says why there cannot be such an attachment; empty where there can.
func (a Attachment) Fault() string {
	switch fault := faultOfName(a.Name); {
	case fault != "":
		return fault
	case len(a.MediaType) > maxMediaType || a.MediaType != "" && !isMediaType(a.MediaType):
		return fmt.Sprintf("%.100q is not a media type such as text/csv", a.MediaType)
	case a.Digest != "" && HashIn(a.Digest) == "":
		return fmt.Sprintf("%.100q is not the digest of a file: sha256: and 64 hexadecimal digits in "+
			"small letters", a.Digest)
	case a.Size < 0:
		return fmt.Sprintf("it cannot have %d bytes", a.Size)
	case a.Kept() && a.Digest == "":
		return "it has neither the digest of a file that is kept, nor the URI of one that stays elsewhere"
	case a.Kept() && a.Size == 0:
		return "it is empty"
	case len(a.Comment) > maxFileWords || len(a.Quantity) > maxFileWords:
		return fmt.Sprintf("the comment or the quantity's name has more than %d bytes", maxFileWords)
	}
	return faultOfURI(a.URI)
}

// faultOfName says why a file cannot be called that. A name is shown, and
// becomes that of a file when it is exported: it names no folder.
func faultOfName(name string) string {
	switch {
	case name == "":
		return "the file has no name"
	case len(name) > maxFileName:
		return fmt.Sprintf("the file's name has %d bytes, at most %d are recorded",
			len(name), maxFileName)
	case !utf8.ValidString(name):
		return "the file's name is not UTF-8"
	case strings.ContainsAny(name, `/\`) || name == "." || name == "..":
		return fmt.Sprintf("%q is not a name of a file, without folders", name)
	case strings.ContainsFunc(name, unprintable):
		return "the file's name holds characters that cannot be printed"
	}
	return ""
}

// unprintable reports whether a character has no place in a name: it moves the
// cursor, or turns the text around.
func unprintable(r rune) bool {
	return r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// isMediaType reports whether a text has the form TYPE/SUBTYPE, without
// parameters (RFC 6838, section 4.2).
func isMediaType(text string) bool {
	top, sub, ok := strings.Cut(text, "/")
	token := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$&-^_.+", r))
		})
	}
	return ok && token(top) && token(sub)
}

// faultOfURI says why a file cannot be there. A scheme is required: a path alone
// means something else on each machine.
func faultOfURI(uri string) string {
	if uri == "" {
		return ""
	}
	u, err := url.Parse(uri)
	switch {
	case len(uri) > maxURI:
		return fmt.Sprintf("the URI has %d bytes, at most %d are recorded", len(uri), maxURI)
	case err != nil || u.Scheme == "" ||
		strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Sprintf("%.200q is not a URI, such as https://data.example.org/run7.h5", uri)
	case u.User != nil:
		if _, secret := u.User.Password(); secret {
			return "the URI holds a password, which the log would keep for ever"
		}
	}
	return ""
}

// FileName is the name of a file at the end of a path of any system, or of a
// URI.
func FileName(location string) string {
	if u, err := url.Parse(location); err == nil && u.Scheme != "" && u.Path != "" && len(u.Scheme) > 1 {
		location = u.Path
	}
	name := path.Base(strings.ReplaceAll(location, `\`, "/"))
	if name == "/" || name == "." {
		return ""
	}
	return name
}

// MediaTypeOf returns the media type for a file name's extension; empty where it is unknown. The
// table is our own, so that the same name means the same on every machine.
func MediaTypeOf(name string) string { return mediaTypes[strings.ToLower(path.Ext(name))] }

var mediaTypes = map[string]string{
	".csv":  "text/csv",
	".tsv":  "text/tab-separated-values",
	".txt":  "text/plain",
	".log":  "text/plain",
	".md":   "text/markdown",
	".json": "application/json",
	".yaml": "application/yaml",
	".yml":  "application/yaml",
	".xml":  "application/xml",
	".png":  "image/png",
	".jpg":  "image/jpeg",
	".jpeg": "image/jpeg",
	".gif":  "image/gif",
	".webp": "image/webp",
	".tif":  "image/tiff",
	".tiff": "image/tiff",
	".svg":  "image/svg+xml",
	".pdf":  "application/pdf",
	".h5":   "application/x-hdf5",
	".hdf5": "application/x-hdf5",
	".nc":   "application/x-netcdf",
	".jdx":  "chemical/x-jcamp-dx",
	".dx":   "chemical/x-jcamp-dx",
	".cif":  "chemical/x-cif",
	".zip":  "application/zip",
	".gz":   "application/gzip",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
