package seek

// AllDrawn is the share of draws in which each composition is on the front, of all of them
// together, and how much of them [Problem.Front] draws.
func (p *Problem) AllDrawn(s *Standing) (onFront map[string]float64, near int, err error) {
	distinct := s.distinct()
	d, err := p.drawAt(s, distinct)
	if err != nil {
		return nil, 0, err
	}
	onFront = make(map[string]float64)
	for i, share := range d.onFront(s.Reference) {
		onFront[s.Measured[distinct[i][0]].Experiment] = share
	}
	return onFront, len(p.near(s, distinct)), nil
}
