package gate

import "github.com/campaignd/campaignd/internal/lab/accounts"

// Acts for which a lab may require confirmation: see [Options.Confirm].
const (
	ActStop     = "stop"
	ActResolve  = "resolve"
	ActOverride = "override"
)

// Need is the requirement of an operation of the API.
type Need struct {
	Permission accounts.Permission
	// InCampaign requires the permission in the campaign that the path names. Otherwise it is a
	// permission of the lab, or the operation itself shows only what its caller may see.
	InCampaign bool
	// Act is the act that the lab may want confirmed.
	Act string
}

// NeedOf returns the requirement of an operation of the API. An operation missing from the table is
// refused to all callers: nothing is open by oversight.
func NeedOf(operation string) (need Need, listed bool) {
	need, listed = needed[operation]
	return need, listed
}

// needed is the table of the operations' requirements.
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
	"list-acts":         {Permission: accounts.See, InCampaign: true},
	"list-asked":        {Permission: accounts.See, InCampaign: true},
	"list-rows":         {Permission: accounts.See, InCampaign: true},
	"diagnose-campaign": {Permission: accounts.See, InCampaign: true},
	"export-campaign":   {Permission: accounts.See, InCampaign: true},
	"replay-campaign":   {Permission: accounts.See, InCampaign: true},
	"list-files":        {Permission: accounts.See, InCampaign: true},
	"get-file":          {Permission: accounts.See, InCampaign: true},

	// The properties of the program, independent of any campaign.
	"list-methods": {},
	"get-method":   {},
	"get-schema":   {},
	"get-version":  {},

	"list-forwards": {Permission: accounts.See}, // a refusal names campaigns

	"verify": {}, // a proof that the caller brings along

	"begin-audit":    {Permission: accounts.Audit, InCampaign: true},
	"get-audit":      {}, // its path names no campaign: it asks for Audit in the audit's own
	"get-checkpoint": {Permission: accounts.Audit, InCampaign: true},
	"prove-event":    {Permission: accounts.Audit, InCampaign: true},
	"prove-growth":   {Permission: accounts.Audit, InCampaign: true},

	"answer-question": {Permission: accounts.Answer, InCampaign: true},

	// It records nothing, but occupies a processor for a while: for participants only.
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
	"count":           {Permission: accounts.Run, InCampaign: true},
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
	// A caller who can declare that an experiment did not take place can also prevent it. A report
	// that a device was without power is confirmed like resolve.
	"cancel": {Permission: accounts.Resolve, InCampaign: true},

	"list-stocks": {Permission: accounts.See},
	"count-stock": {Permission: accounts.Run},
	"free-place":  {Permission: accounts.Run},

	"list-instruments":   {Permission: accounts.See},
	"service-instrument": {Permission: accounts.Run},

	"abort-device": {}, // it asks for Run in each campaign
}
