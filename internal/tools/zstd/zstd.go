// Package zstd stands in for github.com/DataDog/zstd where campaignd is built from
// a checkout: that one is the C library, which Pebble uses where there is a C
// compiler, and which takes longer to compile than any other part of the program.
// This is what Pebble calls of it, over the implementation in Go that Pebble
// uses without a C compiler, and so in a release. Both write the format of
// RFC 8878, and read what the other wrote; campaignd's stores do not use it.
package zstd

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// CompressBound is the most bytes that n bytes are compressed to (ZSTD_compressBound
// of zstd.h).
func CompressBound(n int) int {
	const small = 128 << 10
	bound := n + n>>8
	if n < small {
		bound += (small - n) >> 11
	}
	return bound
}

// Ctx compresses and decompresses; it is used by one goroutine at a time.
type Ctx interface {
	// CompressLevel compresses src into dst, or into a new slice where dst is too
	// short.
	CompressLevel(dst, src []byte, level int) ([]byte, error)
	// DecompressInto decompresses src into dst, which must be long enough, and
	// returns the length.
	DecompressInto(dst, src []byte) (int, error)
}

// NewCtx returns a Ctx.
func NewCtx() Ctx { return ctx{} }

type ctx struct{}

// encoders are those of each level of the Go implementation, which has four.
var encoders sync.Map

func (ctx) CompressLevel(dst, src []byte, level int) ([]byte, error) {
	own := zstd.EncoderLevelFromZstd(level)
	e, ok := encoders.Load(own)
	if !ok {
		made, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(own), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		e, _ = encoders.LoadOrStore(own, made)
	}
	out := e.(*zstd.Encoder).EncodeAll(src, nil)
	if len(out) > len(dst) {
		return out, nil
	}
	return dst[:copy(dst, out)], nil
}

// ErrTooShort is returned where what was compressed is longer than there is room.
var ErrTooShort = errors.New("zstd: the destination is too short")

// decoder needs no state between calls of DecodeAll.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)) })

func (ctx) DecompressInto(dst, src []byte) (int, error) {
	d, err := decoder()
	if err != nil {
		return 0, err
	}
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	switch {
	case err != nil:
		return 0, err
	case len(out) > len(dst):
		return 0, ErrTooShort
	}
	return len(out), nil
}
