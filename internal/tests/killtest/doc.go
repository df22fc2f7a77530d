// Package killtest kills the real program, alone and as a server, with SIGKILL
// in the middle of campaigns, starts it again each time, and checks that
// nothing was lost, repeated or decided otherwise. It holds tests only.
//
// go test makes a few kills. For more, and to see what they hit:
//
//	CAMPAIGND_KILLS=200 go test -v ./internal/tests/killtest
//
// The moments are drawn with the seed that the test prints, or that
// CAMPAIGND_KILLS_SEED gives.
package killtest
