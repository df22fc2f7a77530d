package units

// prefixes are the metric ones, as powers of ten.
var prefixes = map[string]int{
	"": 0, "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1,
	"d": -1, "c": -2, "m": -3, "u": -6, "n": -9, "p": -12, "f": -15, "a": -18, "z": -21, "y": -24,
}

// atom is a unit of UCUM: times·10^tens of base units. Those whose zero lies elsewhere, and
// logarithmic ones, are bases of their own, since they are not multiples.
type atom struct {
	dimensions map[string]int
	tens       int
	times      int64 // 0 for 1
	metric     bool  // it can have a prefix
}

// powers are dimensions: a base unit and its power, one after the other.
func powers(list ...any) map[string]int {
	of := make(map[string]int)
	for i := 0; i < len(list); i += 2 {
		of[list[i].(string)] = list[i+1].(int)
	}
	return of
}

// atoms are those of a laboratory. The mole is a base of its own, as in the SI.
var atoms = map[string]atom{
	"m":    {powers("m", 1), 0, 0, true},
	"s":    {powers("s", 1), 0, 0, true},
	"g":    {powers("g", 1), 0, 0, true},
	"A":    {powers("A", 1), 0, 0, true},
	"K":    {powers("K", 1), 0, 0, true},
	"cd":   {powers("cd", 1), 0, 0, true},
	"mol":  {powers("mol", 1), 0, 0, true},
	"rad":  {powers("rad", 1), 0, 0, true},
	"Cel":  {powers("Cel", 1), 0, 0, true},
	"Np":   {powers("Np", 1), 0, 0, true},
	"B":    {powers("B", 1), 0, 0, true},
	"[pH]": {powers("[pH]", 1), 0, 0, false},

	"Hz":  {powers("s", -1), 0, 0, true},
	"N":   {powers("g", 1, "m", 1, "s", -2), 3, 0, true},
	"Pa":  {powers("g", 1, "m", -1, "s", -2), 3, 0, true},
	"J":   {powers("g", 1, "m", 2, "s", -2), 3, 0, true},
	"W":   {powers("g", 1, "m", 2, "s", -3), 3, 0, true},
	"C":   {powers("A", 1, "s", 1), 0, 0, true},
	"V":   {powers("g", 1, "m", 2, "s", -3, "A", -1), 3, 0, true},
	"F":   {powers("g", -1, "m", -2, "s", 4, "A", 2), -3, 0, true},
	"Ohm": {powers("g", 1, "m", 2, "s", -3, "A", -2), 3, 0, true},
	"S":   {powers("g", -1, "m", -2, "s", 3, "A", 2), -3, 0, true},
	"T":   {powers("g", 1, "s", -2, "A", -1), 3, 0, true},

	"L":   {powers("m", 3), -3, 0, true},
	"l":   {powers("m", 3), -3, 0, true},
	"bar": {powers("g", 1, "m", -1, "s", -2), 8, 0, true},
	"P":   {powers("g", 1, "m", -1, "s", -1), 2, 0, true},
	"St":  {powers("m", 2, "s", -1), -4, 0, true},
	"t":   {powers("g", 1), 6, 0, true},
	"min": {powers("s", 1), 0, 60, false},
	"h":   {powers("s", 1), 0, 3600, false},
	"d":   {powers("s", 1), 0, 86400, false},

	"%":      {nil, -2, 0, false},
	"[ppth]": {nil, -3, 0, false},
	"[ppm]":  {nil, -6, 0, false},
	"[ppb]":  {nil, -9, 0, false},
}
