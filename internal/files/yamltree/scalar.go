package yamltree

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decimalForm matches the decimal numbers of YAML's core schema. The parser takes some of them for
// text: 1e-3, which lacks a point, and numbers that it cannot hold. Hexadecimal and octal numbers,
// and numbers with underscores, do not match.
var decimalForm = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// paddedForm matches whole numbers that begin with a zero: 010 is 8 in YAML
// 1.1, 10 in YAML 1.2, and often a name.
var paddedForm = regexp.MustCompile(`^[-+]?0[0-9]+$`)

// scalar returns the meaning of a scalar: bool, string or json.Number, or a message if it has none.
//
// Scalars that versions of YAML read differently, such as 010, are refused rather than chosen for
// the person. Nodes other than scalars, and tags, are refused here, too.
func scalar(n ast.Node) (value any, message, remedy string) {
	switch n := n.(type) {
	case *ast.StringNode:
		if n.Token != nil && n.Token.Type == token.StringType && decimalForm.MatchString(n.Value) {
			return decimal(n.Value)
		}
		return n.Value, "", ""
	case *ast.LiteralNode:
		return n.Value.Value, "", ""
	case *ast.BoolNode:
		return n.Value, "", ""
	case *ast.IntegerNode:
		if paddedForm.MatchString(n.Token.Value) {
			return padded(n.Token.Value)
		}
		if strings.Contains(n.Token.Value, "_") {
			return separated(n.Token.Value, fmt.Sprint(n.Value))
		}
		return json.Number(fmt.Sprint(n.Value)), "", "" // an int64 or uint64
	case *ast.FloatNode:
		if strings.Contains(n.Token.Value, "_") {
			return separated(n.Token.Value, strconv.FormatFloat(n.Value, 'g', -1, 64))
		}
		return float(n.Value, n.Token.Value)
	case *ast.InfinityNode, *ast.NanNode:
		return nil, n.GetToken().Value + " is not a finite number",
			"where there is no limit, leave the key out"
	case *ast.TagNode:
		return nil, "tags (" + n.Start.Value + ") are not used here", "remove the tag"
	}
	return nil, "this cannot stand here", ""
}

// decimal returns the number of a text. A whole number keeps its digits, since a float64 would
// round those beyond 2⁵³.
func decimal(text string) (value any, message, remedy string) {
	if paddedForm.MatchString(text) {
		return padded(text)
	}
	x, _ := strconv.ParseFloat(text, 64) // ±∞ beyond the range
	value, message, remedy = float(x, text)
	if message == "" && !strings.ContainsAny(text, ".eE") { // whole: with all its digits
		value = json.Number(strings.TrimPrefix(text, "+"))
	}
	return value, message, remedy
}

// float writes a number so that JSON reads the same one: whole numbers without an exponent, as a
// decoder for integers requires. Beyond 1e21 the digits of a whole number are mostly zeros that no
// one wrote.
func float(x float64, text string) (value any, message, remedy string) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil, text + " is too large a number", ""
	}
	format := byte('g')
	if x == math.Trunc(x) && math.Abs(x) < 1e21 { // 1e6 is a whole number
		format = 'f'
	}
	return json.Number(strconv.FormatFloat(x, format, -1, 64)), "", ""
}

// separated refuses a number with underscores between its digits: 12_5 is 125 in
// YAML 1.1, a name in YAML 1.2, and mostly a slip for 12.5.
func separated(text, read string) (value any, message, remedy string) {
	return nil, text + " may be a number or a name",
		fmt.Sprintf("write %s if that is the number, %q in quotes for the name", read, text)
}

// padded refuses a number that begins with a zero. The remedy names both
// readings, and the person chooses.
func padded(text string) (value any, message, remedy string) {
	sign := ""
	if text[0] == '-' {
		sign = "-"
	}
	digits := strings.TrimLeft(text, "+-0")
	if digits == "" {
		digits = "0"
	}
	return nil, text + " may be a number or a name",
		fmt.Sprintf("write %s%s for the number, %q in quotes for the name",
			sign, digits, text)
}
