// Package control is how other commands reach a store that a process holds
// open: a local socket beside the data.
//
// A store has one owner at a time, the process that holds its lock. While
// `campaignd run` is that owner it serves its log here, and takes requests. A
// client folds the events itself, with the same code as a command that opened
// the store: there is one way to compute what a campaign is.
//
// The protocol is HTTP/1.1 with JSON on a Unix socket:
//
//	GET  /v1/status                       who holds the store, and what it waits for
//	GET  /v1/events?after=N[&follow=1]    CloudEvents, a line each; the last line is {"end":true} or {"error":…}
//	GET  /v1/events?campaign=C&after=N    those of one campaign, after a sequence
//	GET  /v1/sequence?campaign=C          the campaign's newest sequence
//	POST /v1/requests                     {"campaign": …, "request": engine.Request}
//
// What fails is answered with {"error": problem}, a [problem.Error] as JSON, and the
// HTTP status of its code. It can all be looked at with
//
//	curl --unix-socket electrolyte.campaign/control.sock http://store/v1/status
//
// # Trust
//
// Whoever may open the socket may do what the owner of the store may do, and
// acts under whatever name they give. The socket's mode is 0600 from its first
// moment: that is the user who runs the campaign, and root. Nothing listens on a
// network. [Handler] is the protocol without the socket, for who has another way to
// know whom to believe.
//
// # Where the socket is
//
// In the store, as control.sock. A socket's path is limited to about 100 bytes
// on all systems; in a deeper folder the socket lies in a private folder under
// the system's temporary one, and the file control.path in the store says
// where. A process that was killed leaves both behind. They do no harm: nobody
// answers, and the next owner, who holds the store's lock, replaces them.
package control
