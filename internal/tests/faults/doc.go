// Package faults kills, stops, pauses and cuts off the servers, the lines and the writers of the
// database log (events/pglog), and the workers and servers of a lab in it, and checks that no
// acknowledged event is lost. It holds tests only.
//
// A trial of the log (TestFaults) is a cluster of three PostgreSQL servers, where one of two
// standbys must confirm each commit; hosts, which are processes that write and read; and one fault.
// Every line between them is a proxy (internal/tests/pgtest). Each host keeps a journal of the answers it
// received, and the journals are compared with the final contents of the database.
//
// A trial of a lab (TestLab) runs the program itself on such a cluster: workers and servers of
// pages, campaigns with an instrument that counts its acts, and people who measure. In the end each
// campaign has ended, was driven by one process at a time, no command was performed twice, every
// acknowledged request is recorded once, and an audit reproduces every decision.
//
// A trial of a device (TestOneDevice) has campaigns that want one real device, driven by workers
// that have no file in common: the room of the device notes each act that begins while it is at
// work.
//
// A suite that finds nothing proves something only if it would have found a fault. So the same
// checks are made of controls, which must lose events (TestControls): a cluster that replicates
// asynchronously, and the log without its three rules; and of a lab whose leases end too early,
// which must have two drivers (TestLabControl); and of one without the queue of its devices
// (TestOneDeviceControl).
//
// go test makes a few trials, and the first two controls. For more:
//
//	CAMPAIGND_FAULTS=500 go test ./internal/tests/faults -run 'TestFaults$' -timeout 4h -v
//	CAMPAIGND_FAULTS=50 go test ./internal/tests/faults -run 'TestLab$' -timeout 4h -v
//	CAMPAIGND_FAULTS=1 go test ./internal/tests/faults -run Control -timeout 1h -v
//
// make that many trials, print a table of the measurements, and have controls for the rules alone;
// CAMPAIGND_FAULTS_ONLY=killprimary,hold chooses faults. The random choices of a trial depend on
// the seed that the test prints, or that CAMPAIGND_FAULTS_SEED gives; the timing of the machine
// does not.
package faults
