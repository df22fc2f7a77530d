package exchange

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// notName matches characters that the name of a parameter cannot hold.
var notName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// Identifier makes a name for a campaign of a heading: letters, digits and underscores,
// as formulas need them.
func Identifier(heading string) string {
	var plain strings.Builder
	for _, r := range norm.NFD.String(strings.NewReplacer("ß", "ss", "ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ø", "o", "Ø", "O", "æ", "ae", "µ", "u", "μ", "mu",
		"α", "alpha", "β", "beta", "γ", "gamma", "δ", "delta", "Δ", "Delta", "ε", "epsilon", "η", "eta", "θ", "theta",
		"κ", "kappa", "λ", "lambda", "ρ", "rho", "σ", "sigma", "τ", "tau", "φ", "phi", "ω", "omega", "°", "deg",
		"%", "percent").Replace(heading)) {
		if !unicode.Is(unicode.Mn, r) {
			plain.WriteRune(r)
		}
	}
	name := strings.Trim(notName.ReplaceAllString(plain.String(), "_"), "_")
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "x" + name
	}
	return name[:min(len(name), 40)]
}
