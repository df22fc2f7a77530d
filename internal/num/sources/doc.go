// Package sources is Gaussian process regression of one quantity that is measured in
// several ways, which differ in what they cost and in how well they tell the value
// that matters: at fidelities of one scale, as an experiment cut short is
// ([Fidelity]), or by a few sources, as a simulation, a quick test and the real one
// are ([ICM]). How they go together is learned from the measurements. A point that
// was not measured in some way is a row that is not there.
//
// Posteriors are those of package gp, at points whose last coordinate is the source:
// see [Join]. What to measure next comes in two forms. One is for a design that
// was chosen at the target: which way to measure it tells most of the value at the
// target for its cost ([Choose]). The other is for design and way together, the
// knowledge gradient ([KnowledgeGradient]).
//
// Conventions: values are standardized, and MINIMIZED where something is best;
// acquisitions are maximized. Costs have any unit, information is in nats.
package sources
