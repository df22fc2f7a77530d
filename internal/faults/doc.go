// Package faults kills, stops, pauses and cuts off the servers, the lines and the
// writers of the database log (events/pglog), and checks that nothing that was
// acknowledged is lost. It holds tests only.
//
// A trial is a cluster of three PostgreSQL servers, of which one of two standbys
// must confirm each commit; hosts, which are processes that write and read; and
// one fault. Every line between them is a proxy (internal/pgtest). Each host
// keeps a journal of what it heard, and the journals are compared with what
// the database has in the end.
//
// A suite that finds nothing proves something only if it would have found it. So
// the same checks are made of two controls, which must lose events: a cluster
// that replicates asynchronously, and the log without its three rules.
//
// go test makes a few trials, and both controls. For more:
//
//	CAMPAIGND_FAULTS=500 go test ./internal/faults -timeout 4h -v
//
// makes that many trials, prints a table of what was measured, and has controls
// for the rules alone; CAMPAIGND_FAULTS_ONLY=killprimary,hold chooses faults. What
// a trial draws, it draws with the seed that the test prints, or that
// CAMPAIGND_FAULTS_SEED gives; what the machine does meanwhile is its own.
package faults
