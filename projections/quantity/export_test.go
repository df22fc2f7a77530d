package quantity

// Read has a projection read an experiment, as a [Set] does.
var Read = (*Projection).read
