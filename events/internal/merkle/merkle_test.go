package merkle

import (
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"golang.org/x/mod/sumdb/tlog"
)

// Law: the hashes kept with each leaf, the root, the edge that is loaded, and where each
// hash is found are those of golang.org/x/mod/sumdb/tlog.
func TestEdge(t *testing.T) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	tree := &Edge{}
	for n := range int64(200) {
		want := must.Get(tlog.TreeHash(n, reader))(t)
		if head := tree.Head(); head.N != n || head.Hash != want {
			t.Fatalf("the head of %d leaves is %v, want %v", n, head, want)
		}
		loaded := must.Get(Load(uint64(n), reader))(t)
		if loaded.Head() != tree.Head() {
			t.Fatalf("the edge of %d leaves loads as another", n)
		}
		restored, ok := Restore(uint64(n), tree.Append(nil))
		if !ok || *restored != *loaded {
			t.Fatalf("the edge of %d leaves is restored as another", n)
		}
		if _, ok := Restore(uint64(n), make([]byte, len(tree.Append(nil))+1)); ok {
			t.Fatalf("an edge of %d leaves is restored from too many bytes", n)
		}
		hashes := must.Get(tlog.StoredHashes(n, []byte{byte(n)}, reader))(t)
		var wantBytes []byte
		for _, h := range hashes {
			wantBytes = append(wantBytes, h[:]...)
		}
		if got := tree.Add(nil, tlog.RecordHash([]byte{byte(n)})); !slices.Equal(got, wantBytes) {
			t.Fatalf("leaf %d completes other hashes", n)
		}
		if len(hashes) != HashCount(uint64(n+1)) {
			t.Fatalf("leaf %d completes %d hashes, not %d", n, len(hashes), HashCount(uint64(n+1)))
		}
		for i := range hashes {
			index := int64(len(stored) + i)
			if leaf, which := Locate(index); leaf != uint64(n+1) || which != i {
				t.Fatalf("hash %d is looked for as number %d of leaf %d; it is number %d of leaf %d",
					index, which, leaf, i, n+1)
			}
		}
		stored = append(stored, hashes...)
	}
}
