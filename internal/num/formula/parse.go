package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse reads a formula. It fails with a [*Fault].
func Parse(text string) (*Formula, error) {
	r, root, err := read(text)
	if err != nil {
		return nil, err
	}
	if root.op == compared {
		return nil, &Fault{root.column, "a comparison is not a number",
			"a formula may choose by one, a < b ? x : y; a comparison alone is a constraint"}
	}
	return part(r, root)
}

// compared is the operation of a comparison while a text is read. It is a part of a choice or of
// a constraint, and stands in no formula.
const compared operation = 255

// reader reads a text from left to right, and refuses the first thing that cannot stand where it
// does.
type reader struct {
	text    string // of ASCII characters
	at      int    // the next one
	names   []string
	columns []int
	depth   int
}

// foreign are characters and pairs of characters that no formula has, with what
// to write instead.
var foreign = []struct{ text, remedy string }{
	{"//", "write / for a quotient"},
	{"/*", "leave remarks to the file's own comments"},
	{"**", "write ^ for a power"},
	{"==", "two measured values are never equal: compare them by <= or >="},
	{"::", "write one colon, in a < b ? x : y"},
	{"≤", "write <="},
	{"≥", "write >="},
	{"−", "write the minus of the keyboard, -"},
	{"–", "write the minus of the keyboard, -"},
	{"·", "write *"},
	{"×", "write *"},
	{"÷", "write /"},
	{"²", "write ^2"},
	{"³", "write ^3"},
	{"√", "write sqrt(…)"},
	{"%", "write a share as a number, 0.05"},
}

// signs are the characters of formulas besides letters, digits and white space.
const signs = "+-*/^(),<>=?:._"

const partsOfFormulas = "a formula is made of numbers, names of letters, digits and underscores, " +
	"+ - * / ^, parentheses, functions, and a < b ? x : y"

// read reads the whole of a text, which may be a comparison.
func read(text string) (*reader, *node, error) {
	if n := utf8.RuneCountInString(text); n > MaxLength {
		return nil, nil, tooLong(n)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil, &Fault{1, "the formula is empty", "write one, or leave the field out"}
	}
	if err := characters(text); err != nil {
		return nil, nil, err
	}
	r := &reader{text: text}
	root, err := r.expression()
	if err == nil && r.peek() != "" {
		err = r.unexpected()
	}
	if err != nil {
		return nil, nil, err
	}
	return r, root, nil
}

func tooDeep(column int) error {
	return &Fault{column, fmt.Sprintf("more than %d operations stand within each other", MaxDepth),
		"write a part of it as a quantity of its own"}
}

func tooLong(length int) error {
	return &Fault{Column: 1, Message: fmt.Sprintf("the formula has %d characters", length),
		Remedy: fmt.Sprintf("at most %d are possible; write a part of it as a quantity of its own",
			MaxLength)}
}

// characters refuses the first character that no formula has.
func characters(text string) error {
	all := []rune(text)
	for i, c := range all {
		here := string(all[i:min(i+2, len(all))])
		for _, f := range foreign {
			if strings.HasPrefix(here, f.text) {
				return &Fault{i + 1, fmt.Sprintf("%q has no meaning in a formula", f.text), f.remedy}
			}
		}
		plain := c <= unicode.MaxASCII &&
			(unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsSpace(c))
		if !plain && !strings.ContainsRune(signs, c) {
			return &Fault{i + 1, fmt.Sprintf("%q has no meaning in a formula", string(c)), partsOfFormulas}
		}
	}
	return nil
}

// token is a word, a number, which includes all letters and dots that follow it, or a sign.
var token = regexp.MustCompile(`^(?:[0-9.](?:[eE][-+]?[0-9]|[\w.])*|[A-Za-z_]\w*|[<>]=|.)`)

// decimal is how numbers are written.
var decimal = regexp.MustCompile(`^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// column returns where the next token begins.
func (r *reader) column() int {
	for r.at < len(r.text) && unicode.IsSpace(rune(r.text[r.at])) {
		r.at++
	}
	return r.at + 1
}

// peek returns the next token, and an empty text at the end.
func (r *reader) peek() string {
	return token.FindString(r.text[r.column()-1:])
}

// take steps over the next token if it is the given one.
func (r *reader) take(sign string) bool {
	found := r.peek() == sign
	if found {
		r.at += len(sign)
	}
	return found
}

func (r *reader) unexpected() error {
	column, t := r.column(), r.peek()
	if t == "" {
		return &Fault{len(r.text) + 1, "the formula ends too early", "something is missing at its end"}
	}
	return &Fault{column, fmt.Sprintf("%q cannot stand here", t), partsOfFormulas}
}

// levels are the operators between two operands that group to the left, by how tightly they bind.
var levels = []map[string]operation{
	{"<": compared, "<=": compared, ">": compared, ">=": compared},
	{"+": add, "-": subtract},
	{"*": multiply, "/": divide},
}

// expression reads all that can stand in parentheses.
func (r *reader) expression() (*node, error) {
	condition, err := r.operands(0)
	if err != nil {
		return nil, err
	}
	if !r.take("?") {
		return condition, nil
	}
	if condition.op != compared {
		return nil, &Fault{condition.column, "a choice is made by one comparison", "write a < b ? x : y"}
	}
	yes, err := r.expression()
	if err != nil {
		return nil, err
	}
	if !r.take(":") {
		return nil, r.unexpected()
	}
	no, err := r.expression()
	if err != nil {
		return nil, err
	}
	choice, err := operate(choose, condition.column, append(condition.args, yes, no)...)
	if err == nil {
		choice.compare = condition.compare
	}
	return choice, err
}

// operands reads operands between which stand the operators of a level.
func (r *reader) operands(level int) (*node, error) {
	if level == len(levels) {
		return r.power()
	}
	left, err := r.operands(level + 1)
	for err == nil {
		sign := r.peek()
		op, ok := levels[level][sign]
		if !ok {
			break
		}
		r.at += len(sign)
		column := r.at - len(sign) + 1
		if op == compared && left.op == compared {
			return nil, &Fault{column, "a comparison compares two sides", "write a < b"}
		}
		var right *node
		if right, err = r.operands(level + 1); err == nil {
			left, err = operate(op, column, left, right)
		}
		if err == nil && op == compared {
			left.compare = comparison(sign)
		}
	}
	return left, err
}

// power reads a value, which may have a sign before it and an exponent behind it. It binds as
// -(a^b), and a^(b^c).
func (r *reader) power() (*node, error) {
	switch column := r.column(); {
	case r.take("+"):
		return nil, &Fault{column, `"+" cannot stand before a value`, "leave it out"}
	case r.take("-"):
		inner, err := r.power()
		if err != nil {
			return nil, err
		}
		return operate(negate, column, inner)
	}
	base, err := r.whole()
	column := r.column()
	if err != nil || !r.take("^") {
		return base, err
	}
	exponent, err := r.power()
	if err != nil {
		return nil, err
	}
	return operate(power, column, base, exponent)
}

// operate is an operation on numbers.
func operate(op operation, column int, args ...*node) (*node, error) {
	for _, a := range args {
		if a.op == compared {
			return nil, &Fault{a.column, "a comparison is not a number",
				"write what it chooses: a < b ? x : y"}
		}
	}
	return &node{op: op, args: args, column: column}, nil
}

// whole reads a self-contained part: a number, a name, a call or an expression in parentheses.
func (r *reader) whole() (*node, error) {
	column, t := r.column(), r.peek()
	switch {
	case r.take("("):
		inner, err := r.expression()
		if err == nil && !r.take(")") {
			err = r.unexpected()
		}
		return inner, err
	case simple.MatchString(t):
		r.at += len(t)
		switch {
		case r.take("("):
			return r.call(t, column)
		case strings.HasPrefix(r.peek(), "."):
			return r.member(t, column)
		}
		if _, function := functions[t]; function {
			return nil, &Fault{column, t + " is a function", "write its arguments in parentheses"}
		}
		return r.name("", t, column, column)
	case t != "" && strings.Contains("0123456789.", t[:1]):
		r.at += len(t)
		x, err := strconv.ParseFloat(t, 64)
		switch {
		case !decimal.MatchString(t):
			return nil, &Fault{column, fmt.Sprintf("%q is not a number", t), "write numbers as 12, 0.5 or 1e-3"}
		case err != nil:
			return nil, &Fault{column, fmt.Sprintf("the number %s is too large", t),
				"write numbers as 12, 0.5 or 1e-3"}
		}
		return &node{op: number, value: x, column: column}, nil
	}
	return nil, r.unexpected()
}

// name is the value of a name that was written at a column, after what stands before its dot.
func (r *reader) name(before, text string, column, from int) (*node, error) {
	if err := CheckName(text); err != nil {
		return nil, &Fault{column, err.Error(), "give the quantity or parameter another name"}
	}
	return r.named(before+text, from), nil
}

func (r *reader) named(text string, column int) *node {
	i := slices.Index(r.names, text)
	if i < 0 {
		i = len(r.names)
		r.names, r.columns = append(r.names, text), append(r.columns, column)
	}
	return &node{op: name, name: i, column: column}
}

// member reads the rest of reference.NAME.
func (r *reader) member(of string, from int) (*node, error) {
	r.at++ // the dot
	column, property := r.column(), r.peek()
	known := of == Reference && simple.MatchString(property)
	if known {
		r.at += len(property)
	}
	if known && strings.HasPrefix(r.peek(), ".") {
		known, column = false, r.column()+1
	}
	if !known {
		return nil, &Fault{column, "only reference.NAME has a dot in it",
			"a parameter whose name has a dot or a dash cannot be used in a formula: rename it"}
	}
	return r.name(Reference+".", property, column, from)
}

// call reads the arguments of a function.
func (r *reader) call(function string, column int) (*node, error) {
	op, ok := functions[function]
	if !ok {
		return nil, &Fault{column, fmt.Sprintf("there is no function %q", function),
			"there are " + functionNames()}
	}
	var args []*node
	for r.peek() != ")" {
		if len(args) > 0 && !r.take(",") {
			return nil, r.unexpected()
		}
		if r.peek() == ")" { // behind the last comma, as in min(a, b,)
			break
		}
		arg, err := r.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	r.take(")")
	switch n := len(args); {
	case (op == minimum || op == maximum) && n < 2:
		return nil, &Fault{column, function + " is of two or more values", "write " + function + "(a, b)"}
	case op == power && n != 2:
		return nil, &Fault{column, "pow is of two values", "write pow(a, b), or a^b"}
	case op != minimum && op != maximum && op != power && n != 1:
		return nil, &Fault{column, function + " is of one value, and has " + strconv.Itoa(n),
			"write " + function + "(a)"}
	}
	return operate(op, column, args...)
}
