package pebblelog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
)

// HEAD holds the newest tree head in two slots, written in turn, each in a page
// of its own: whatever tears one leaves the other. A slot is a line of text of
// fixed length:
//
//	campaignd-head 1 SIZE ROOT CHECKSUM
//
// with the number of events in 20 digits, the root hash in base64 and the
// CRC-32C of the line up to there in 8 hexadecimal digits. The numbers
// increase, so that the newer slot is the one with the greater size.
//
// Numbers are padded so that a slot always has the same length: it is
// overwritten in place, and nothing of the older line must stay behind.
// slotSize counts "campaignd-head 1 ", the number, the hash and the checksum,
// with their spaces and the newline.
const (
	slotLine    = "campaignd-head 1 %020d %s "
	slotSize    = 17 + 20 + 1 + 44 + 1 + 8 + 1
	slotSpacing = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// formatSlot is a slot's line, always of slotSize bytes. The checksum tells a torn write from a
// whole one; it does not protect against a person who rewrites the file, which only a checkpoint
// kept elsewhere reveals.
func formatSlot(head tlog.Tree) []byte {
	line := fmt.Appendf(make([]byte, 0, slotSize), slotLine, head.N, head.Hash)
	return fmt.Appendf(line, "%08x\n", crc32.Checksum(line, castagnoli))
}

// parseSlot reads a slot; false for one that is torn or damaged. It formats what
// it read and compares, so that nothing but the one way of writing is accepted.
func parseSlot(slot []byte) (tlog.Tree, bool) {
	var head tlog.Tree
	var root string
	var sum uint32
	if _, err := fmt.Sscanf(string(slot), slotLine+"%08x\n", &head.N, &root, &sum); err != nil {
		return tlog.Tree{}, false
	}
	hash, err := tlog.ParseHash(root)
	if err != nil {
		return tlog.Tree{}, false
	}
	head.Hash = hash
	return head, string(formatSlot(head)) == string(slot)
}

// headFile is the open HEAD.
type headFile struct {
	file vfs.File
	next int64 // the slot to write next
}

// createHead writes a HEAD of an empty log. Both slots are valid from the
// start. They hold the same head: reading takes the first then, and writing
// begins with the second.
func createHead(fsys vfs.FS, name string) error {
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	content := make([]byte, slotSpacing+slotSize)
	slot := formatSlot((&merkle.Edge{}).Head())
	copy(content, slot)
	copy(content[slotSpacing:], slot)
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// readHead returns the newest head in HEAD, the slot that does not hold it, and
// a note if a slot is not readable. One readable slot is enough; a note then
// says that the other one is not. An error is damage where HEAD is missing or
// says nothing, since without it no one could say whether events are missing at
// the end.
func readHead(fsys vfs.FS, name string) (head tlog.Tree, other int64, note string, err error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return tlog.Tree{}, 0, "", fmt.Errorf("%w: %s is missing, so nothing shows whether the newest events are all there; restore it, or the store, from a copy",
			events.ErrDamaged, name)
	}
	if err != nil {
		return tlog.Tree{}, 0, "", err
	}
	content, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return tlog.Tree{}, 0, "", err
	}
	found := int64(-1)
	for slot := range int64(2) {
		at := slot * slotSpacing
		h, ok := tlog.Tree{}, false
		// A file that was cut off is read as far as it goes.
		if int64(len(content)) >= at+slotSize {
			h, ok = parseSlot(content[at : at+slotSize])
		}
		if !ok {
			note = fmt.Sprintf("slot %d of %s is not readable (a power failure while it was "+
				"written, or damage); the other one is", slot+1, name)
			continue
		}
		if found < 0 || h.N > head.N {
			head, found = h, slot
		}
	}
	if found < 0 {
		return tlog.Tree{}, 0, "", fmt.Errorf("%w: neither slot of %s is readable, so nothing shows whether the newest events are all there; restore it, or the store, from a copy",
			events.ErrDamaged, name)
	}
	return head, 1 - found, note, nil
}

// openHead opens HEAD for writing, the slot other first.
func openHead(fsys vfs.FS, name string, other int64) (*headFile, error) {
	f, err := fsys.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &headFile{file: f, next: other}, nil
}

// write puts head in place of the older of the two, and leaves it for the
// system to sync. The slot that holds the newest head is never the one that is
// being written: torn in the middle, the other still names the head before.
func (h *headFile) write(head tlog.Tree) error {
	if _, err := h.file.WriteAt(formatSlot(head), h.next*slotSpacing); err != nil {
		return err
	}
	h.next = 1 - h.next
	return nil
}
