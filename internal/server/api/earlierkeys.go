package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/gate"
	"github.com/campaignd/campaignd/internal/server/problems"
)

// earlierKeys are those that a server before this version kept with their
// answers, in a folder of files. Nothing is added. Each holds for the 24 hours
// that were promised, so that a request that was sent before the upgrade and
// again after it does not count twice. It can go once no server of before is
// upgraded to this version any more; until then it is read at each request with
// a key, which finds no file as a rule.
type earlierKeys struct{ folder string }

// earlierFor is how long those keys hold, from when their request began: what
// that version has promised its clients.
const earlierFor = 24 * time.Hour

// openEarlierKeys removes the folder once none of its keys holds any more. A
// single key that does keeps all of them: to remove them one by one would be
// code for one day. A folder that cannot be removed does no harm, since each
// key's time is checked when it is used.
func openEarlierKeys(folder string, log func(format string, args ...any)) earlierKeys {
	files, err := os.ReadDir(folder)
	if err != nil {
		return earlierKeys{folder} // as a rule there is none
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) < earlierFor {
			return earlierKeys{folder}
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		log("the idempotency keys of an earlier version: %v", err)
	}
	return earlierKeys{folder}
}

// answered answers a request as it was answered before; false where its key is
// not among them.
//
// The name of a key's file, and the digest of its request, are made as that
// version made them: neither may change. A key without an answer is of a
// request during which the server ended; of that it is unknown whether it was
// recorded, and a person must look, since to carry it out again might count it
// twice.
func (k earlierKeys) answered(
	w http.ResponseWriter, r *http.Request, key string, request []byte,
) bool {
	who := gate.IdentityOf(r.Context())
	caller := strings.Join([]string{who.Actor(), who.Account, who.Credential, key}, "\x00")
	name := sha256.Sum256([]byte(caller))
	text, err := os.ReadFile(filepath.Join(k.folder, hex.EncodeToString(name[:])))
	if err != nil {
		return false
	}
	var kept struct {
		Request string    `json:"request"`
		Began   time.Time `json:"began"`
		Answer  *struct {
			Status int         `json:"status"`
			Header http.Header `json:"header"`
			Body   []byte      `json:"body"`
		} `json:"answer"`
	}
	if json.Unmarshal(text, &kept) != nil || time.Since(kept.Began) > earlierFor {
		return false
	}
	sum := sha256.Sum256(request)
	switch {
	case kept.Request != hex.EncodeToString(sum[:]):
		problems.Write(w, problems.New(http.StatusUnprocessableEntity, problem.Invalid,
			"This "+keyHeader+" came with another request before; take another one for each."))
	case kept.Answer == nil:
		p := problems.New(http.StatusConflict, problem.Uncertain,
			"The server ended while it carried this request out, before it was upgraded: "+
				"it may be recorded or not.")
		p.Remedies = []problems.Remedy{{
			Text:   "look whether it is recorded, and send it with another " + keyHeader + " if not",
			Action: string(problem.Review),
		}}
		problems.Write(w, p)
	default:
		for field, values := range kept.Answer.Header {
			w.Header()[field] = values
		}
		w.Header().Set(replayHeader, "true")
		w.WriteHeader(kept.Answer.Status)
		_, _ = w.Write(kept.Answer.Body) // the client may have gone
	}
	return true
}
