package lab_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// attachesIn names the store in which the process of this test attaches files until it is killed.
const attachesIn = "CAMPAIGND_TEST_ATTACHES_IN"

// attachUntilKilled attaches files of 1 byte to 2 MB, and says of each that it is recorded.
func attachUntilKilled(t *testing.T, folder string) {
	local, err := lab.OpenLocal(t.Context(), folder, lab.LocalOptions{Registry: builtin.Registry(), MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	names := must.Get(lab.Campaigns(t.Context(), local))(t)
	for i := 0; ; i++ {
		content := bytes.Repeat([]byte{byte(rand.Uint32()), byte(i)}, 1+rand.IntN(1<<20))
		stored, err := local.Attach(t.Context(), names[0], attaching(fmt.Sprint(i)), bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("RECORDED", stored[0].Sequence)
	}
}

// Law: whenever the process that attaches files is killed, each file that the log names is whole,
// and each that was acknowledged is in the log. What is left besides is found and can be removed.
func TestKilledWhileAttaching(t *testing.T) {
	if folder := os.Getenv(attachesIn); folder != "" {
		attachUntilKilled(t, folder)
	}
	private(t)
	folder := filepath.Join(t.TempDir(), "bench.campaign")
	local := must.Get(lab.OpenLocal(t.Context(), folder, lab.LocalOptions{Registry: builtin.Registry()}))(t)
	file := must.Get(campaignfile.Parse(builtin.Registry(), "bench.yaml", []byte(byHand)))(t)
	if err := local.Define(t.Context(), events.CampaignDefined{Definition: file.Definition}, engine.Request{Actor: "person:ada"}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, local.Close())
	rounds := 15
	if testing.Short() {
		rounds = 4
	}
	acknowledged := events.Sequence(1)
	for round := range rounds {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWhileAttaching$")
		child.Env = append(os.Environ(), attachesIn+"="+folder)
		out := must.Get(child.StdoutPipe())(t)
		must.Do(t, child.Start())
		lines := bufio.NewScanner(out)
		begun := false
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "RECORDED "); ok {
				must.Get(fmt.Sscan(text, &acknowledged))(t)
				if !begun {
					begun = true
					time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = child.Process.Kill() })
				}
			}
		}
		_ = child.Wait()
		if !begun {
			t.Fatal("it attached nothing")
		}
		copied := mustCopy(t, folder)
		log := copied.Log().(events.Store)
		r, err := attest.Run(t.Context(), log, attest.Options{Registry: builtin.Registry(), Files: filestore.Of(folder)})
		if err != nil || !r.Passed() {
			t.Fatalf("round %d: %+v, %v", round, r, err)
		}
		if last, err := log.LastSequence(t.Context(), file.Definition.Name); err != nil || last < acknowledged {
			t.Fatalf("round %d: %d events are there, %d were acknowledged: %v", round, last, acknowledged, err)
		}
		unnamed, err := attest.UnnamedFiles(t.Context(), log, filestore.Of(folder))
		if err == nil {
			err = filestore.Of(folder).Remove(t.Context(), unnamed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
