package zstd

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Law: what was compressed comes back, whatever the level, into a destination that
// is exactly long enough; and a bound is never too low.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 100, 4 << 10, 200 << 10} {
		noise, text := make([]byte, size), bytes.Repeat([]byte("campaign"), size/8)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		for _, level := range []int{1, 3, 7, 22} {
			for _, src := range [][]byte{noise, text} {
				c := NewCtx()
				dst := make([]byte, CompressBound(len(src)))
				out, err := c.CompressLevel(dst, src, level)
				if err != nil || len(out) > 0 && &out[0] != &dst[0] {
					t.Fatalf("%d bytes at level %d: %v; in place: %v", len(src), level, err, len(out) > 0 && &out[0] == &dst[0])
				}
				back := make([]byte, len(src))
				n, err := c.DecompressInto(back, out)
				if err != nil || n != len(src) || !bytes.Equal(back, src) {
					t.Fatalf("%d bytes at level %d came back as %d: %v", len(src), level, n, err)
				}
				if len(src) > 0 {
					if _, err := c.DecompressInto(back[:len(src)-1], out); err == nil {
						t.Fatalf("%d bytes fit into one less", len(src))
					}
				}
			}
		}
	}
	if _, err := NewCtx().DecompressInto(make([]byte, 10), []byte("no frame")); err == nil {
		t.Error("what is not a frame was decompressed")
	}
}
