package gate

import "github.com/campaignd/campaignd/internal/accounts"

// Acts that a lab may want people to confirm: see [Options.Confirm].
const (
	ActStop     = "stop"
	ActResolve  = "resolve"
	ActOverride = "override"
)

// Need is what an operation of the API needs.
type Need struct {
	Permission accounts.Permission
	// InCampaign asks for the permission in the campaign that the path names.
	// Otherwise it is one of the lab, or the operation itself shows only what
	// its caller may see.
	InCampaign bool
	// Act is what the lab may want to have confirmed.
	Act string
}

// NeedOf returns what an operation of the API needs. One that is not in the
// table is refused to all callers: nothing is open by oversight.
func NeedOf(operation string) (need Need, listed bool) {
	need, listed = needed[operation]
	return need, listed
}

// needed is the table of what each operation of the API needs.
var needed = map[string]Need{
	"list-campaigns":    {},
	"list-questions":    {},
	"begin-campaign":    {Permission: accounts.Define},
	"validate-campaign": {Permission: accounts.Define},

	"get-campaign":   {Permission: accounts.See, InCampaign: true},
	"get-definition": {Permission: accounts.See, InCampaign: true},
	"get-defined":    {Permission: accounts.See, InCampaign: true},
	"get-decision":   {Permission: accounts.See, InCampaign: true},
	"get-report":     {Permission: accounts.See, InCampaign: true},
	"get-events":     {Permission: accounts.See, InCampaign: true},
	"predict":        {Permission: accounts.See, InCampaign: true},

	"get-course":        {Permission: accounts.See, InCampaign: true},
	"get-best-believed": {Permission: accounts.See, InCampaign: true},
	"get-slices":        {Permission: accounts.See, InCampaign: true},
	"get-map":           {Permission: accounts.See, InCampaign: true},
	"get-importance":    {Permission: accounts.See, InCampaign: true},

	"list-experiments":  {Permission: accounts.See, InCampaign: true},
	"list-asked":        {Permission: accounts.See, InCampaign: true},
	"list-rows":         {Permission: accounts.See, InCampaign: true},
	"diagnose-campaign": {Permission: accounts.See, InCampaign: true},
	"export-campaign":   {Permission: accounts.See, InCampaign: true},
	"replay-campaign":   {Permission: accounts.See, InCampaign: true},
	"list-files":        {Permission: accounts.See, InCampaign: true},
	"get-file":          {Permission: accounts.See, InCampaign: true},

	// What the program is; nothing of any campaign.
	"list-methods": {},
	"get-method":   {},
	"get-schema":   {},
	"get-version":  {},

	"list-forwards": {Permission: accounts.See}, // what is refused names campaigns

	"verify": {}, // a proof that the caller brings along

	"begin-audit":    {Permission: accounts.Audit, InCampaign: true},
	"get-audit":      {}, // its path names no campaign: it asks for Audit in the audit's own
	"get-checkpoint": {Permission: accounts.Audit, InCampaign: true},
	"prove-event":    {Permission: accounts.Audit, InCampaign: true},
	"prove-growth":   {Permission: accounts.Audit, InCampaign: true},

	"answer-question": {Permission: accounts.Answer, InCampaign: true},

	// It records nothing, but takes a processor for a while: for those who take
	// part.
	"begin-what-if":  {Permission: accounts.Answer, InCampaign: true},
	"cancel-what-if": {Permission: accounts.Answer, InCampaign: true},
	"get-what-if":    {Permission: accounts.See, InCampaign: true},
	"list-what-ifs":  {Permission: accounts.See, InCampaign: true},

	"suggest":         {Permission: accounts.Run, InCampaign: true},
	"tell":            {Permission: accounts.Run, InCampaign: true},
	"anchor":          {Permission: accounts.Run, InCampaign: true},
	"import-csv":      {Permission: accounts.Run, InCampaign: true},
	"import":          {Permission: accounts.Run, InCampaign: true},
	"results":         {Permission: accounts.Run, InCampaign: true},
	"correct":         {Permission: accounts.Run, InCampaign: true, Act: ActOverride},
	"exclude":         {Permission: accounts.Run, InCampaign: true},
	"allow":           {Permission: accounts.Run, InCampaign: true},
	"note":            {Permission: accounts.Run, InCampaign: true},
	"attach-file":     {Permission: accounts.Run, InCampaign: true},
	"attach-uri":      {Permission: accounts.Run, InCampaign: true},
	"withdraw-file":   {Permission: accounts.Run, InCampaign: true},
	"pause-campaign":  {Permission: accounts.Run, InCampaign: true},
	"resume-campaign": {Permission: accounts.Run, InCampaign: true},
	"stop-campaign":   {Permission: accounts.Run, InCampaign: true, Act: ActStop},
	"abort-campaign":  {Permission: accounts.Run, InCampaign: true},
	"run-run":         {Permission: accounts.Run, InCampaign: true},
	"halt-run":        {Permission: accounts.Run, InCampaign: true},
	"amend-campaign":  {Permission: accounts.Run, InCampaign: true, Act: ActOverride},
	"resolve":         {Permission: accounts.Resolve, InCampaign: true, Act: ActResolve},
	"resolve-many":    {Permission: accounts.Resolve, InCampaign: true, Act: ActResolve},
	"resolve-csv":     {Permission: accounts.Resolve, InCampaign: true, Act: ActResolve},
	// Who can say that an experiment did not take place can have it not take
	// place. To say that a device was without power is confirmed like resolve.
	"cancel": {Permission: accounts.Resolve, InCampaign: true},

	"abort-device": {}, // it asks for Run in each campaign
}
