// Package accounts says who is who in a served folder: accounts and their roles, passwords,
// passkeys, sessions, API tokens, OpenID Connect, and the audit trail of all of it.
//
// A [Book] is the accounts of one folder, in FOLDER/.campaignd/accounts; one process holds
// it at a time. What a method has answered is on the disk, whatever is killed afterwards: a
// change and its entry in the audit trail are one atomic write.
//
// Somebody proves who they are with [Book.Login], [Book.FinishPasskeyLogin],
// [Book.FinishOIDC] or, for a program, [Book.AuthenticateToken], and is an [Identity] from
// then on. What an identity may do is said by [Identity.May] and nothing else: roles lead to
// permissions by the one table in role.go. The server asks May before it does anything, and
// tells [Book.Refused] where the answer was no. Methods that change accounts take the
// identity of the caller, check it themselves, and record it.
//
// # What is secret
//
// Passwords, session tokens and API tokens are never kept: only hashes of them are, argon2id
// of passwords and SHA-256 of the random ones, which cannot be guessed. No exported type
// holds a secret, and none is in an error or in the audit trail. A name that nobody has is
// not recorded either when somebody logs in with it: people type passwords into the field of
// the name.
//
// # The clock
//
// All times are those of [Options].Now. A clock that is set back ends no session early; one that is
// set forward ends those that would have ended by then.
package accounts
