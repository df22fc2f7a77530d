// Package peers measures the log next to other stores that people use for
// events, on the same machine and disk, with the same bytes. It is a module of
// its own, so that the product does not depend on them:
//
//	cd internal/study/peers && go test -bench . -benchtime 2s
//
// Package kafka in it tries the forwarder against Kafka's protocol, spoken by
// another library. Outside Go, botorch/peers.py runs BoTorch on the tasks of a
// study, from the starts of its campaigns, and outcomes/outcomes.py runs BoTorch,
// Ax and BayBE on tasks with several outcomes.
package peers
