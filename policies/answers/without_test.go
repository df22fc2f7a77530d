package answers

import (
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/internal/num/channel"
)

// Law: without the answers about a composition all others are left, in their order, of every form and expert.
func TestWithout(t *testing.T) {
	h := heard{channels: []spoken{
		{expert: "ada", kind: kindChoices, answers: channel.Answers{
			Labels: []channel.Label{{Point: 0}, {Point: 1, Reject: true}, {Point: 2}},
			Orders: [][]int{{0, 1}, {2, 3}, {3, 1, 0}},
		}},
		{expert: "bo", kind: kindEstimates, answers: channel.Answers{
			Estimates: []channel.Estimate{{Point: 1, Value: 7}, {Point: 3, Value: 8}},
		}},
	}}
	less := h.without(1)
	want := []channel.Answers{
		{Labels: []channel.Label{{Point: 0}, {Point: 2}}, Orders: [][]int{{2, 3}}},
		{Estimates: []channel.Estimate{{Point: 3, Value: 8}}},
	}
	for i, c := range less.channels {
		if !reflect.DeepEqual(c.answers, want[i]) {
			t.Errorf("%s's %s: %+v, want %+v", c.expert, c.kind, c.answers, want[i])
		}
	}
	if len(h.channels[0].answers.Labels) != 3 || len(h.channels[1].answers.Estimates) != 2 {
		t.Error("what was said has changed")
	}
}
