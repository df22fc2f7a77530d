package events

// upcaster is a payload that a field was added to. What was written before
// the field existed says by its absence what used to be so.
type upcaster interface{ upcast() }

func (p *CampaignDefined) upcast() { p.Definition.upcast() }
func (p *CampaignAmended) upcast() { p.Definition.upcast() }

// upcast fills in the settings that definitions written out by an earlier
// version do not have, with what that version did.
func (d *Definition) upcast() {
	if d.Parallel == 0 {
		d.Parallel = 1
	}
	if d.Initial.Comparisons == nil {
		d.Initial.Comparisons = new(int)
	}
	if d.Policy.Duel.Set() {
		return
	}
	if d.Outliers.Action == "" {
		d.Outliers.Action = OutlierIgnore
	}
	if d.Model.Feasibility == nil {
		d.Model.Feasibility = new(bool)
	}
	if belief := d.Policy.Trust.Belief(); belief != nil && belief.Feedback == "" {
		belief.Feedback = FeedbackLabel
	}
}
