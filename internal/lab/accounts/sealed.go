package accounts

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// With several servers, one may begin a ceremony and another finish it. No server stores it: its
// name is the ceremony itself, encrypted and authenticated under a key of the lab, so that
// strangers who begin many cost nothing. A ceremony proves a person's identity only once: its name
// is claimed in the lab's log first.

const (
	// sealKey is the value that holds the key, and usedKey those that claim a ceremony. No event
	// refers to either: the key stays, the claims are removed once the ceremony is over.
	sealKey = valuesPrefix + "seal"
	usedKey = valuesPrefix + "used/"
	// longestSealed bounds the text that a stranger can have decrypted, in bytes. A person with the
	// maximum number of passkeys needs a quarter of it.
	longestSealed = 16 << 10
)

// sealed returns the name of a ceremony, which contains all of it.
func (c *ceremonies) sealed(x *ceremony) (string, error) {
	x.Until = c.now().Add(ceremonyTime)
	text, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	seal, err := c.seal()
	if err != nil {
		return "", err
	}
	nonce := make([]byte, seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return base64.RawURLEncoding.EncodeToString(seal.Seal(nonce, nonce, text, nil)), nil
}

// unsealed returns a ceremony, or nil if it is over or has another purpose.
func (c *ceremonies) unsealed(name string, what purpose) (*ceremony, error) {
	if len(name) > longestSealed {
		return nil, nil
	}
	seal, err := c.seal()
	if err != nil {
		return nil, err
	}
	box, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(box) < seal.NonceSize() {
		return nil, nil
	}
	text, err := seal.Open(nil, box[:seal.NonceSize()], box[seal.NonceSize():], nil)
	x := new(ceremony)
	if err != nil || json.Unmarshal(text, x) != nil || x.What != what || x.over(c.now()) {
		return nil, nil
	}
	return x, nil
}

// seal returns the lab's cipher.
func (c *ceremonies) seal() (cipher.AEAD, error) {
	key, err := c.sealKey()
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, damaged("the key of logins that are under way: %w", err)
	}
	return cipher.NewGCM(block)
}

// sealKey returns the lab's key, which the first user makes.
func (c *ceremonies) sealKey() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	log, _ := c.ledger.roster.place()
	key, err := log.Value(ctx, sealKey)
	if err == nil && key == nil {
		made := make([]byte, 32)
		_, _ = rand.Read(made) // never fails
		if _, err = log.SwapValue(ctx, sealKey, nil, made); err == nil {
			key, err = log.Value(ctx, sealKey) // another process may have been quicker
		}
	}
	return key, lablog.Fault(err)
}

// buckets is the number of groups of unknown names. A typed name may be a password: its bucket
// reveals next to nothing of it.
const buckets = 4096

// bucket returns the group in which several servers count failed attempts with an unknown name,
// since the log does not hold such names. Only servers of the lab know which names share a group:
// it is a MAC under the lab's key. Accounts have counts of their own.
func (c *ceremonies) bucket(name string) (string, error) {
	key, err := c.sealKey()
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("name\x00" + name))
	return fmt.Sprintf("%03x", binary.BigEndian.Uint32(mac.Sum(nil))%buckets), nil
}

// once claims a ceremony that has proved a person's identity, and refuses a second use. If it is
// unknown whether the claim succeeded, the person has to begin again.
func (c *ceremonies) once(name string) error {
	if c.ledger.shared == nil {
		return nil // it is gone already
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	log, _ := c.ledger.roster.place()
	claimed, err := log.SwapValue(ctx, usedKey+string(keyOf(name)), nil, []byte(c.now().Format(time.RFC3339)))
	if err != nil {
		return lablog.Fault(err)
	}
	if !claimed {
		return tooLate()
	}
	return nil
}

// renewPasskeys rereads the credentials of all passkeys, and their counters, which rise at other
// servers without an event.
func (l *ledger) renewPasskeys() error {
	if l.shared == nil {
		return nil
	}
	if err := l.fresh(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	log, _ := l.roster.place()
	var all []events.KeyValue
	for kv, err := range log.Values(ctx, passkeyKey) {
		if err != nil {
			return lablog.Fault(err)
		}
		all = append(all, kv)
	}
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	return l.fold(nil, all)
}
