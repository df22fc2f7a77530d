package events

// Kinds of events about the places of a lab, an oven or a press, which its campaigns share. They are
// in the stream of its stocks.
const (
	KindPlaceTaken Kind = "place.taken"
	KindPlaceFreed Kind = "place.freed"
)

// Occupant is a batch of a campaign, in a place of the lab.
type Occupant struct {
	// Store is the path of the campaign's store, with slashes, from the lab's folder on.
	Store    string `json:"store"`
	Campaign string `json:"campaign"`
	// Instance is that of the campaign: see [CampaignDefined].
	Instance string `json:"instance,omitempty"`
	Batch    string `json:"batch"`
}

// PlaceTaken says that a batch is about to be brought to a place of the lab. It has the place until
// it is freed, whatever becomes of the campaign's process.
type PlaceTaken struct {
	Occupant
	// Place is its name in lab.yaml.
	Place string `json:"place"`
	// Room is how many batches it has room for, by lab.yaml at that time.
	Room int `json:"room"`
}

// Subject implements [Payload].
func (p PlaceTaken) Subject() string { return p.Campaign }

// PlaceFreed says that a batch is in a place of the lab no more: by its campaign or, where that goes
// on no more, by the word of a person who has looked.
type PlaceFreed struct {
	Occupant
	Place string `json:"place"`
	// Reason is in the person's words.
	Reason string `json:"reason,omitempty"`
}

// Subject implements [Payload].
func (p PlaceFreed) Subject() string { return p.Campaign }
