// Package accounts manages the identities of a served folder: accounts and their roles, passwords,
// passkeys, sessions, API tokens, OpenID Connect, and the audit log of all of it.
//
// # The lab's log
//
// A [Directory] holds the accounts of one folder. They are a stream of the lab's log
// (FOLDER/.campaignd/lab, an [events.Store]), so that permissions, and every refusal, are held to
// account as science is: by the same Merkle tree, checkpoints and verification. One process holds
// it at a time. The state is a fold of those events and changes by nothing else; what a method has
// acknowledged is on the disk, whatever is killed afterwards.
//
// Forgettable data are not events: the hashes of passwords and tokens, sessions, the credentials
// and counters of passkeys, the address and time of a person's last visit. They are values next to
// the log ([events.ValueStore]), under references in the events. A value is written before the
// event that refers to it; an unreferenced value is removed when the accounts are opened; if a
// referenced value is missing, that password, session, token or passkey is invalid. So a lab can
// forget without falsifying its log.
//
// Snapshots are unnecessary: 100,000 logins are read in about a second.
//
// Other processes share the log of a lab in a database, and serve the same people: see shared.go.
//
// # Callers
//
// A person authenticates with [Directory.Login], [Directory.FinishPasskeyLogin] or
// [Directory.FinishOIDC], a program with [Directory.AuthenticateToken], and is an [Identity] from
// then on. [Identity.May] alone decides on permissions: the one table in role.go maps roles to
// permissions. The server calls May before it does anything, and reports a denial to
// [Directory.Refused]. Methods that change accounts take the identity of the caller, check it
// themselves, and record it.
//
// # Secrets
//
// Passwords, session tokens and API tokens are never stored: only their hashes are, argon2id of
// passwords and SHA-256 of the random ones, which cannot be guessed. No exported type holds a
// secret, and errors and events contain none. An unknown name tried at the login is not recorded
// either: people type passwords into the field of the name.
//
// # The clock
//
// All times are those of [Options].Now. A clock that is set back ends no session early; a clock
// that is set forward ends those that would have ended by then.
package accounts
