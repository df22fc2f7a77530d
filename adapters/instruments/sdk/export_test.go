package sdk

import "os"

// TryLock takes the lock on a file of the ledger, as another holder would.
func TryLock(f *os.File) (bool, error) { return tryLock(f, false) }
