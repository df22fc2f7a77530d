// Package definition describes campaigns: what may be varied, what is sought,
// how the next step is chosen, who is asked and what measures. A [Campaign] is
// the content of a campaign file, and of the events that define and amend a
// campaign.
package definition
