// Package control is how other commands reach a store that a process holds
// open: a local socket in the store's folder.
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
//	POST /v1/files                        a file; the same as before, in base64, in the header Campaignd-Request
//	GET  /v1/files/F?campaign=C           the file F of a campaign
//
// Files are for clients on other machines: those here put them into the store's
// folder, and read them there (events/filestore).
//
// A failure is answered with {"error": problem}, a [problem.Error] as JSON, and
// the HTTP status of its code. To look at it all, use
//
//	curl --unix-socket electrolyte.campaign/control.sock http://store/v1/status
//
// A store in a database may be held by a process on any machine. The same
// requests go there as letters in that database (events/pglog), but for the
// streams: all read the log where it is.
//
// # Trust
//
// A process that can open the socket can do what the owner of the store can do,
// under any name it gives. The socket's mode is 0600 from its first moment:
// that is the user who runs the campaign, and root. Nothing listens on a
// network. Who can write letters in a database can write its logs, too: their
// requests name their account. [Handler] is the protocol without the socket, for servers that
// authenticate in another way: internal/web/server offers it for one campaign at a
// time, and [DialURL] speaks to it.
//
// # Where the socket is
//
// In the store, as control.sock. All systems limit a socket's path to about 100
// bytes; where the store's path is too long, the socket is in a private folder
// under the system's temporary one, and the file control.path in the store says
// where. A process that was killed leaves both behind. They do no harm: nothing
// answers there, and the next owner, which holds the store's lock, replaces
// them.
package control
