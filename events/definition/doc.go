// Package definition describes campaigns: the parameters, the objective, the method that chooses
// the next step, the experts and the instrument. A [Campaign] is the content of a campaign file,
// and of the events that define and amend a campaign.
package definition
