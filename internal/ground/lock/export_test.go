package lock

// Take takes h.Device, or returns a [HeldError]; on a system without such locks
// an error that wraps [errors.ErrUnsupported].
func Take(dir string, h Holder) (*Lease, error) {
	l, err := Enter(dir, h)
	if err != nil {
		return nil, err
	}
	if err := l.Try(); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}
