package events

import "strings"

// A lab has a log of its own, apart from those of its campaigns: who may do what in
// it, who holds which store, and which campaigns it runs. Its streams belong to
// the parts of the lab that keep them, each with a [Vocabulary]; this is the
// vocabulary of the lab itself.

// LabStream is the stream of the lab's log that is about the log itself.
const LabStream = "lab"

// FilingStream is the stream of the lab's log in which campaigns are filed.
const FilingStream = "filing"

// storeStream begins the streams of the lab's log that are about a store.
const storeStream = "store/"

// StoreStream is the stream of the lab's log that is about the store at a path,
// with slashes, from the lab's folder on.
func StoreStream(path string) string { return storeStream + path }

// StoreOfStream is the path of the store that a stream of the lab's log is
// about; ok is false for other streams.
func StoreOfStream(stream string) (path string, ok bool) {
	return strings.CutPrefix(stream, storeStream)
}

// The kinds of event of the lab itself.
const (
	// KindLabBegun is the kind of the first event of a lab's log.
	KindLabBegun      Kind = "lab.begun"
	KindStoreHeld     Kind = "store.held"
	KindStoreReleased Kind = "store.released"
	KindRunStarted    Kind = "run.started"
	KindRunEnded      Kind = "run.ended"
	KindCampaignFiled Kind = "campaign.filed"
)

// LabBegun is the first event of a lab's log.
type LabBegun struct {
	// Instance is a random word that tells this log from every other one of its
	// name.
	Instance string `json:"instance"`
}

// Subject implements Payload.
func (LabBegun) Subject() string { return "" }

// StoreHeld says that a process has taken a store: from here on it alone drives
// the campaigns in it. It is appended with the sequence that the process had
// seen before it took the store, so that of two of them one is refused.
type StoreHeld struct {
	// Worker is a random word that tells the process from every other one;
	// empty for one that does not write this log, and was seen to hold the
	// store.
	Worker string `json:"worker,omitempty"`
	// Host is the name of its machine.
	Host string `json:"host,omitempty"`
	// PID is the number of the process on its machine.
	PID   int   `json:"pid"`
	Build Build `json:"build"`
	// Lost says that the hold before had no end: its process ended without a
	// word.
	Lost bool `json:"lost,omitempty"`
}

// Subject implements Payload: the store is that of the stream.
func (StoreHeld) Subject() string { return "" }

// StoreReleased says that the process which held the store has let go of it.
type StoreReleased struct{}

// Subject implements Payload: the store is that of the stream.
func (StoreReleased) Subject() string { return "" }

// RunStarted says that the lab runs a campaign from here on, and goes on with
// it after each restart.
type RunStarted struct {
	Campaign string `json:"campaign"`
}

// Subject implements Payload.
func (r RunStarted) Subject() string { return r.Campaign }

// RunEnded says that the lab does not go on with a campaign: it has ended, or a
// person has halted it, or it could not be begun.
type RunEnded struct {
	Campaign string `json:"campaign"`
}

// Subject implements Payload.
func (r RunEnded) Subject() string { return r.Campaign }

// CampaignFiled says how a campaign is filed from here on: what helps people to
// find it among others. The campaign knows nothing of it.
type CampaignFiled struct {
	// Store is the path of its store, with slashes, from the lab's folder on.
	Store    string   `json:"store"`
	Campaign string   `json:"campaign"`
	Tags     []string `json:"tags,omitempty"`
	// Archived keeps it out of the list of what people work on.
	Archived bool `json:"archived,omitempty"`
}

// Subject implements Payload.
func (c CampaignFiled) Subject() string { return c.Campaign }

// Lab is the vocabulary of the lab itself.
var Lab = NewVocabulary(
	RowOf[LabBegun](KindLabBegun, 1),
	RowOf[StoreHeld](KindStoreHeld, 1),
	RowOf[StoreReleased](KindStoreReleased, 1),
	RowOf[RunStarted](KindRunStarted, 1),
	RowOf[RunEnded](KindRunEnded, 1),
	RowOf[CampaignFiled](KindCampaignFiled, 1),
	RowOf[DeviceAwaited](KindDeviceAwaited, 1),
	RowOf[DeviceTaken](KindDeviceTaken, 1),
	RowOf[DeviceFreed](KindDeviceFreed, 1),
	RowOf[StockTaken](KindStockTaken, 1),
	RowOf[LabStockCounted](KindStockCounted, 1),
	RowOf[PlaceTaken](KindPlaceTaken, 1),
	RowOf[PlaceFreed](KindPlaceFreed, 1),
	RowOf[ResourceServiced](KindResourceServiced, 1),
)
