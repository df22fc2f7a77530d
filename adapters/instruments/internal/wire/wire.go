// Package wire holds the messages of the process protocol, version 1, which
// adapters/instruments/process speaks and adapters/instruments/sdk answers. The
// protocol is described for people in docs/process-instrument.md.
package wire

import (
	"encoding/json"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Version of the protocol. It goes up when an earlier program would
// misunderstand a message. Fields may be added without that: those of a reply
// that it does not know campaignd reports and ignores.
const Version = 1

// Operations of a request.
const (
	OpHandshake = "handshake"
	OpDescribe  = "describe"
	OpStart     = "start"
	OpAwait     = "await"
	OpCancel    = "cancel"
	OpRecover   = "recover"
	OpDeliver   = "deliver"
	OpSafe      = "safe"
)

// LedgerDurable is a program's word in the handshake for a ledger that has every start, on the
// disk, before anything moves.
const LedgerDurable = "durable"

// Request is a line from campaignd to the program. All fields but ID and Op are
// empty where the operation does not need them.
type Request struct {
	// ID is repeated in the reply. IDs count up from 1 in each run of a
	// program.
	ID uint64 `json:"id"`
	// Op is one of the operations above; a program answers one that it does not
	// know with an error.
	Op string `json:"op"`
	// Protocol, Campaign, Parameters, Objective, Quantities and Settings come with
	// the handshake.
	Protocol   int                      `json:"protocol,omitempty"`
	Campaign   string                   `json:"campaign,omitempty"`
	Parameters []definition.Parameter   `json:"parameters,omitempty"`
	Objective  *definition.Objective    `json:"objective,omitempty"`
	Quantities []definition.QuantityDef `json:"quantities,omitempty"`
	Settings   map[string]any           `json:"settings,omitempty"`
	// Command comes with start, await, cancel, recover and deliver.
	Command *instruments.Command `json:"command,omitempty"`
	// Awaited comes with deliver: the quantities that are still to arrive.
	Awaited []string `json:"awaited,omitempty"`
	// Reason comes with safe: a person's words.
	Reason string `json:"reason,omitempty"`
}

// Reply is a line from the program to campaignd: the answer to a request, or,
// without ID, a result that was not asked for yet.
type Reply struct {
	ID *uint64 `json:"id,omitempty"`
	// Error answers any request that could not be handled.
	//
	// Without ID and Command it is a remark of the program's own, which is
	// logged.
	Error string `json:"error,omitempty"`
	// Protocol and the flags up to Ledger answer the handshake.
	Protocol int `json:"protocol,omitempty"`
	// Recover: the program knows commands of its earlier runs.
	Recover bool `json:"recover,omitempty"`
	// Finishes: at the end of its input the program finishes its work, keeps the result and ends by
	// itself.
	Finishes bool `json:"finishes,omitempty"`
	// Delivers: quantities come after an experiment has ended, and the program
	// answers deliver.
	Delivers bool `json:"delivers,omitempty"`
	// Voids: a command whose cancel was answered never begins any more, whatever
	// is read or sent later.
	Voids bool `json:"voids,omitempty"`
	// Signs: it gives signs of life of commands under way.
	Signs bool `json:"signs,omitempty"`
	// Batches: it performs acts for several experiments, which come in the command's experiments.
	Batches bool `json:"batches,omitempty"`
	// Safe: the device has a safe state, to which the request safe brings it.
	Safe bool `json:"safe,omitempty"`
	// Ledger is [LedgerDurable] where the ledger is durable and complete: see
	// [instruments.Keeper].
	Ledger string `json:"ledger,omitempty"`
	// Description answers describe.
	Description *instruments.Description `json:"description,omitempty"`
	// Later answers describe where the device cannot be described yet: why.
	Later string `json:"later,omitempty"`
	// OK answers start, cancel and safe.
	OK bool `json:"ok,omitempty"`
	// Handle may come with OK in the answer to start: the device's own name of the run.
	Handle string `json:"handle,omitempty"`
	// Cannot comes with Error in the answer to cancel: the command has begun, and
	// the device cannot stop it.
	Cannot bool `json:"cannot,omitempty"`
	// Refused answers a start that was not and will not be acted on.
	Refused string `json:"refused,omitempty"`
	// Fate answers recover.
	Fate instruments.Fate `json:"fate,omitempty"`
	// Outcome answers await, or comes with Command unasked.
	Outcome json.RawMessage `json:"outcome,omitempty"`
	// Delivered answers deliver, or comes with Command unasked.
	Delivered json.RawMessage `json:"delivered,omitempty"`
	// Sign comes with Command unasked, any time while the command is under way: see [DecodeSign].
	Sign json.RawMessage `json:"sign,omitempty"`
	// Command names the command of a sign, or of an unasked outcome or delivery.
	Command string `json:"command,omitempty"`

	// NonFinite is why the outcome holds null where Line, the reply as it was
	// written, holds NaN or Infinity.
	NonFinite error  `json:"-"`
	Line      []byte `json:"-"`
	// Lost gives the reason for a missing Outcome although there was an answer. Set by the reader
	// of the line, never by a program.
	Lost string `json:"-"`
}
