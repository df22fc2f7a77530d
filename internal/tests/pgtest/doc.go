// Package pgtest starts PostgreSQL servers for tests: one that the tests of a
// process share, and clusters whose lines can be delayed, held and cut, and whose
// servers can be stopped, killed and promoted. It runs them as a user without
// rights, and ends them with the process that started them, however that ends.
// Where PostgreSQL is not installed, a test that asks for a server is skipped.
package pgtest
