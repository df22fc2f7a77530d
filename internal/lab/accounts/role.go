package accounts

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Permission is a right that roles give.
type Permission string

const (
	// See shows campaigns: their logs, models, questions, reports, exports.
	See Permission = "see"
	// Answer answers questions as an expert; [Identity.AnswersAs] decides as which ones.
	Answer Permission = "answer"
	// ActForOthers answers in the place of any expert. The log records the person who answered and
	// the expert they answered for.
	ActForOthers Permission = "act_for_others"
	// Run drives a campaign: start, pause, resume, stop, abort, amend, tell,
	// correct, exclude, import.
	Run Permission = "run"
	// Resolve records the outcome of an experiment whose fate is unknown, and calls experiments
	// off.
	Resolve Permission = "resolve"
	// Define makes new campaigns.
	Define Permission = "define"
	// Equip changes the lab's instruments and people (lab.yaml).
	Equip Permission = "equip"
	// Audit reads the audit log, and verifies it and the logs of campaigns.
	Audit Permission = "audit"
	// Administer changes accounts: their existence, roles and logins.
	Administer Permission = "accounts"
)

// permissions is the table of permissions, with their words in "may not …", and whether they belong
// to the lab as a whole: a grant for one campaign does not give those.
var permissions = []struct {
	permission Permission
	words      string
	lab        bool
}{
	{See, "see this", false},
	{Answer, "answer questions", false},
	{ActForOthers, "answer for others", false},
	{Run, "run campaigns", false},
	{Resolve, "say what became of an experiment whose fate is unknown", false},
	{Define, "define campaigns", true},
	{Equip, "change instruments and the lab file", true},
	{Audit, "read the audit trail or verify logs", false},
	{Administer, "change accounts", true},
}

// Words describes the permission; it completes "may not".
func (p Permission) Words() string {
	for _, known := range permissions {
		if known.permission == p {
			return known.words
		}
	}
	return string(p)
}

// Role is a person's role in a lab, or in one of its campaigns.
type Role string

const (
	// Viewer looks on.
	Viewer Role = "viewer"
	// Expert answers the questions put to them, under their own name.
	Expert Role = "expert"
	// Scientist is responsible for campaigns: defines and runs them, enters what others told them.
	Scientist Role = "scientist"
	// Integrator is responsible for the devices.
	Integrator Role = "integrator"
	// Auditor reads everything, changes nothing, and sees the audit log.
	Auditor Role = "auditor"
	// Admin may do everything. An admin can take any role, so that withholding a permission would
	// only look safer; the audit log records their acts.
	Admin Role = "admin"
)

// roles is the table of the roles' permissions. A scientist may resolve because they know whether
// an experiment took place; an integrator, because they know what the device did. An integrator
// runs no campaign: choosing experiments is not their job.
var roles = []struct {
	role Role
	may  []Permission
}{
	{Viewer, []Permission{See}},
	{Expert, []Permission{See, Answer}},
	{Scientist, []Permission{See, Answer, ActForOthers, Run, Resolve, Define}},
	{Integrator, []Permission{See, Resolve, Equip}},
	{Auditor, []Permission{See, Audit}},
	{Admin, []Permission{See, Answer, ActForOthers, Run, Resolve, Define, Equip, Audit, Administer}},
}

// Roles returns every role, the one with the fewest permissions first.
func Roles() []Role {
	all := make([]Role, len(roles))
	for i, r := range roles {
		all[i] = r.role
	}
	return all
}

// Permissions returns every permission.
func Permissions() []Permission {
	all := make([]Permission, len(permissions))
	for i, p := range permissions {
		all[i] = p.permission
	}
	return all
}

// Permissions returns a role's permissions, nil for an unknown role.
func (r Role) Permissions() []Permission {
	for _, row := range roles {
		if row.role == r {
			return slices.Clone(row.may)
		}
	}
	return nil
}

// ForLab reports whether a permission belongs to the lab as a whole, so that a grant for a single
// campaign cannot give it.
func (p Permission) ForLab() bool {
	for _, row := range permissions {
		if row.permission == p {
			return row.lab
		}
	}
	return true // no grant gives an unknown one
}

// Grant is a role in all campaigns, or in one.
type Grant struct {
	Role Role `json:"role"`
	// Campaign is the campaign it is for; empty means all of them, and the lab.
	Campaign string `json:"campaign,omitempty"`
	// Issuer is the OpenID Connect issuer that gave the grant and may take it back at the next
	// login; empty for a grant of an administrator.
	Issuer string `json:"issuer,omitempty"`
}

// gives reports whether a grant gives a permission for a campaign; for the empty one, for all of
// them.
func (g Grant) gives(p Permission, campaign string) bool {
	if g.Campaign != "" && (p.ForLab() || g.Campaign != campaign) {
		return false
	}
	return slices.Contains(g.Role.Permissions(), p)
}

// String returns "scientist" or "scientist in lfp".
func (g Grant) String() string {
	if g.Campaign == "" {
		return string(g.Role)
	}
	return string(g.Role) + " in " + g.Campaign
}

// longestCampaign is the longest campaign name in a grant, in bytes.
const longestCampaign = 200

// check refuses an invalid grant. The campaign need not exist: roles may be given before it begins.
func (g Grant) check() error {
	if g.Role.Permissions() == nil {
		return problem.New(problem.Invalid, "there is no role %q; the roles are %s", g.Role, joined(Roles())).
			About(string(g.Role))
	}
	if g.Campaign != "" && g.Role == Admin {
		return problem.New(problem.Invalid, "an admin is one for the whole lab, not for one campaign")
	}
	return fits("the campaign's name", g.Campaign, longestCampaign)
}

// joined writes names as a list.
func joined[T ~string](names []T) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}
