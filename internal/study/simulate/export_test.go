package simulate

// LockError is lockError, for tests.
var LockError = lockError
