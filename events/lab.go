package events

// A lab has a log of its own, apart from those of its campaigns: who may do
// what in it. Its streams belong to the parts of the lab that keep them, each
// with a [Vocabulary]; this is the first event of all.

// LabStream is the stream of the lab's log that is about the log itself.
const LabStream = "lab"

// KindLabBegun is the kind of the first event of a lab's log.
const KindLabBegun Kind = "lab.begun"

// LabBegun is the first event of a lab's log.
type LabBegun struct {
	// Instance is a random word that tells this log from every other one of its
	// name.
	Instance string `json:"instance"`
}

// Subject implements Payload.
func (LabBegun) Subject() string { return "" }

// Lab is the vocabulary of [LabStream].
var Lab = NewVocabulary(RowOf[LabBegun](KindLabBegun, 1))
