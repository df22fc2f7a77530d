// Package sources is Gaussian process regression of one quantity that is measured in
// several ways, which differ in what they cost and in how well they tell the value
// that matters: at fidelities of one scale, as an experiment cut short is
// ([Fidelity]), or by a few sources, as a simulation, a quick test and the real one
// are ([ICM]). How they go together is learned from the measurements. A point that
// was not measured in some way is a row that is not there.
//
// A point of a posterior has the source as its last coordinate. A design that was chosen at
// the target is measured in the way that tells most of its value there for its cost
// ([LogInformationAt], [PerCost]).
//
// Conventions: values are standardized, and MINIMIZED where something is best;
// acquisitions are maximized. Costs have any unit, information is in nats.
package sources
