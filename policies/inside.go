package policies

import "context"

// insideSalt keeps the seed of fits within the space apart from others.
const insideSalt = 0x696e73696465 // "inside"

// Inside is the view that a decision is made from: its models leave out measured compositions
// that the campaign could not ask for now ([campaign.Experiment.Outside]). A model with too few
// measurements left is nil. The only error is that of a cancelled context.
func (v View) Inside(ctx context.Context, seed uint64) (View, error) {
	if v.Campaign.Outside == nil {
		return v, nil
	}
	var err error
	v.Models, err = v.Models.Inside(ctx, seed^insideSalt)
	return v, err
}

// everywhere is the view of version 2: all that was measured was compared,
// wherever it was.
func everywhere(v View) View {
	v.Campaign = v.Campaign.Everywhere()
	v.Models = v.Models.Everywhere()
	v.Version2 = true
	return v
}

// Earlier are the versions of this module's families whose decisions are made
// again, as they were made then: each by the view that it had.
var Earlier = map[int]func(View) View{2: everywhere}
