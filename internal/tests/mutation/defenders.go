package main

import "strings"

// usual are the packages that are mutated where none are named: those that
// decide, record, serve or let in.
var usual = []string{
	"./events/...",
	"./projections/...",
	"./policies/...",
	"./adapters/...",
	"./internal/engine/...",
	"./internal/attest/...",
	"./internal/web/server/...",
	"./internal/lab/accounts/...",
	"./internal/lab",
	"./internal/lab/equip/...",
	"./internal/lab/lablog/...",
	"./internal/lab/forward/...",
	"./internal/lab/notify/...",
	"./internal/lab/whatif/...",
	"./internal/files/exchange/...",
	"./internal/web/console/...",
	"./internal/view",
	"./internal/files/campaignfile/...",
	"./internal/files/labfile/...",
	"./internal/ground/lock/...",
	"./internal/lab/devices/...",
	"./internal/ground/guardfs/...",
	"./internal/view/diagnose/...",
}

// defender is a folder whose packages' tests defend the mutated packages. The
// why is for the reader of the table; a test asks that each row has one.
type defender struct {
	folder string // from the module's root, with all below it
	why    string
	long   bool // only with -long
}

// defenders is the order in which tests are asked about a mutant, after those
// of its own package: from the ones that know most of it in the least time to
// those that run the whole program.
var defenders = []defender{
	{folder: "events", why: "the logs and feeds carry every event"},
	{folder: "projections/space", why: "designs and encodings are what policies search"},
	{folder: "projections", why: "folds read what events say"},
	{folder: "policies", why: "policies decide on folds and spaces"},
	{folder: "adapters", why: "instruments and reviewers keep contracts and answer"},
	{folder: "schemas", why: "the schemas are those of the payloads"},
	{folder: "internal/study/tasks", why: "simulated tasks are written as definitions"},
	{folder: "internal/files/campaignfile", why: "a file becomes a definition, with its defaults and faults"},
	{folder: "internal/engine", why: "the core uses all of them; its tests hold the laws of safety"},
	{folder: "internal/engine/control", why: "requests of people pass through the engine"},
	{folder: "internal/view/diagnose", why: "diagnoses read folds and refit models"},
	{folder: "internal/view", why: "what is shown of a campaign reads every fold"},
	{folder: "internal/view/report", why: "the report shows every fold"},
	{folder: "internal/files/labfile", why: "a lab's file names instruments, experts and addressees"},
	{folder: "internal/lab/devices", why: "the queue of a lab's devices decides which command goes to which device"},
	{folder: "internal/ground/lock", why: "leases and tickets of devices are files of the machine"},
	{folder: "internal/attest", why: "an audit makes decisions and steps again"},
	{folder: "internal/lab/accounts", why: "who may do what is events, and values that can be forgotten"},
	{folder: "internal/lab/notify", why: "messages are folded from events"},
	{folder: "internal/files/exchange", why: "tables of experiments are read and written"},
	{folder: "internal/lab/lablog", why: "the lab's log is opened again when its disk takes writes"},
	{folder: "internal/lab/forward", why: "events are sent on, in order and without a gap"},
	{folder: "internal/lab/equip", why: "instruments and channels are opened from settings"},
	{folder: "internal/lab/whatif", why: "the engine goes on from a copy of a log"},
	{folder: "internal/lab", why: "a process runs many campaigns on shared devices"},
	{folder: "internal/web/console", why: "the pages show and ask for everything"},
	{folder: "internal/web/server", why: "the API, who may call it, and the pages behind it"},
	{folder: "internal/study", why: "studies run whole campaigns in memory"},
	{folder: "internal/tests/chaos", why: "whole campaigns with absent people and lying devices"},
	{folder: "cmd", why: "scripts of the whole program, which are the slowest to start"},
	{folder: "internal/tests/killtest", why: "the program is killed again and again: minutes", long: true},
	{folder: "internal/tests/faults", why: "the servers under a log are killed again and again: minutes", long: true},
}

// rank returns where a package stands among the defenders; the module's path is
// cut from its own already. The first row that fits counts: a folder within
// another one stands before it.
func rank(table []defender, folder string) (int, bool) {
	for i, d := range table {
		if folder == d.folder || strings.HasPrefix(folder, d.folder+"/") {
			return i, true
		}
	}
	return 0, false
}
