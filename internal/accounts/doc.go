// Package accounts says who is who in a served folder: accounts and their
// roles, passwords, passkeys, sessions, API tokens, OpenID Connect, and the
// audit log of all of it.
//
// # The lab's log
//
// A [Directory] is the accounts of one folder. They are a stream of the lab's
// log (FOLDER/.campaignd/lab, an [events.Store]), so that who may do what, and
// every refusal, is held to account as science is: by the same Merkle tree,
// checkpoints and verification. One process holds it at a time. The state is a
// fold of those events and changes by nothing else; what a method has answered
// is on the disk, whatever is killed afterwards.
//
// What must be forgettable is no event: the hashes of passwords and tokens,
// sessions, the credentials and counters of passkeys, from where and when a
// person came last. They are values next to the log ([events.ValueStore]), under
// references that events hold. A value is written before the event that names
// it; one that no event names is removed when the accounts are opened; where
// one is missing that an event names, that password, session, token or passkey
// proves nothing any more. So a lab can forget without a lie in its log.
//
// There is no snapshot: 100,000 logins are read in about a second.
//
// The log of a lab in a database is shared with other processes, each of which
// serves the same people: see shared.go.
//
// # Who asks
//
// A person proves who they are with [Directory.Login],
// [Directory.FinishPasskeyLogin] or [Directory.FinishOIDC], a program with
// [Directory.AuthenticateToken], and is an [Identity] from then on. What an
// identity may do is said by [Identity.May] and nothing else: roles lead to
// permissions by the one table in role.go. The server asks May before it does
// anything, and tells [Directory.Refused] where the answer was no. Methods that
// change accounts take the identity of the caller, check it themselves, and
// record it.
//
// # What is secret
//
// Passwords, session tokens and API tokens are never kept: only hashes of them
// are, argon2id of passwords and SHA-256 of the random ones, which cannot be
// guessed. No exported type holds a secret, and none is in an error or an
// event. A name that is no account's is not recorded either when it is tried at
// the login: people type passwords into the field of the name.
//
// # The clock
//
// All times are those of [Options].Now. A clock that is set back ends no
// session early; one that is set forward ends those that would have ended by
// then.
package accounts
