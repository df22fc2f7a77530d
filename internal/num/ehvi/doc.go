// Package ehvi holds the expected hypervolume improvement: by how much a further point is expected
// to increase the hypervolume of the known outcomes of a trade-off between m objectives, each
// modelled by itself.
//
// [Closed] is its closed form beyond one front, [Members] the mean over several possible fronts,
// and [Noisy] that mean for the posteriors of Gaussian processes, at a point of the unit cube: the
// twin, for several objectives, of acquisition.Noisy. All are in logarithms, and so are their
// derivatives, so that nothing underflows however improbable an improvement is.
//
// Sign convention: Closed and Members MAXIMIZE, as package pareto does. Signs are turned in
// [Objective]: a model of a quantity that is to be small, as all of a campaign's models of one
// objective are, says Minimized, and its reference and bound stay in the model's own units. The
// acquisition is maximized.
package ehvi
