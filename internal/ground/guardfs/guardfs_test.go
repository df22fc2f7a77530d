package guardfs

import (
	"strings"
	"testing"
)

// Law: what the database would end the process for is a failure to write, the
// first of which counts; what it only remarks on is none.
func TestFatalIsAFailure(t *testing.T) {
	g := New()
	log := g.Logger()
	log.Infof("compacted %d", 1)
	log.Errorf("slow disk")
	select {
	case <-g.Failed():
		t.Fatal("a remark is a failure")
	default:
	}
	log.Fatalf("MANIFEST %d is damaged", 7)
	log.Fatalf("and then %d", 8)
	select {
	case <-g.Failed():
	default:
		t.Fatal("nothing has failed")
	}
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "MANIFEST 7 is damaged") {
		t.Errorf("the failure is %v", err)
	}
}
