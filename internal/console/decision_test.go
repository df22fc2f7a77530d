package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// simulatedLab is a campaign that measures itself.
const simulatedLab = `name: branin
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 3}
budget: {experiments: 7}
instrument: {simulated: branin}
policy: logei
`

// Law: the page of a decision says where it is in the log; whoever may audit gets a proof there that
// holds without the log, of the record of that decision and no other; nobody else does.
func TestProofOfDecision(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(simulatedLab)
	s.until(c, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	decisions := s.events(c, events.KindDecisionMade)
	for i, id := range []string{"d1", "d2"} {
		status, page := s.get("/campaigns/branin/decisions/" + id)
		if status != http.StatusOK || !strings.Contains(page, decisions[i].ID) || !strings.Contains(page, `href="/campaigns/branin/proofs/`+id+`"`) {
			t.Errorf("the page of %s: %d %s", id, status, page)
		}
		status, proof := s.get("/campaigns/branin/proofs/" + id)
		if status != http.StatusOK {
			t.Fatalf("the proof of %s: %d %s", id, status, proof)
		}
		v := attest.VerifyFiles([]attest.Text{{File: "proof", Bytes: []byte(proof)}}, nil, false)
		if !v.Hold() || v.Files[0].Position != decisions[i].Position || !strings.Contains(string(v.Files[0].Event), decisions[i].ID) {
			t.Errorf("the proof of %s at %d: %+v", id, decisions[i].Position, v.Files[0])
		}
	}
	s.visitor.May = func(permission, _ string) error {
		if permission == console.Audit {
			return problem.New(problem.Forbidden, "no auditor")
		}
		return nil
	}
	if status, page := s.get("/campaigns/branin/decisions/d1"); status != http.StatusOK || strings.Contains(page, "/proofs/d1") {
		t.Errorf("to somebody else the page is %d, and offers the proof: %s", status, page)
	}
	if status, text := s.get("/campaigns/branin/proofs/d1"); status != http.StatusForbidden || strings.Contains(text, "tlog-proof") {
		t.Errorf("to somebody else the proof is %d: %s", status, text)
	}
}
