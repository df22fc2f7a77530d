package formula

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// Parse reads a formula. It fails with a [*Fault].
func Parse(text string) (*Formula, error) {
	r, tree, err := read(text)
	if err != nil {
		return nil, err
	}
	if b, ok := tree.(*ast.BinaryNode); ok && compares(b.Operator) {
		return nil, r.fault(b, "a comparison is no number",
			"a formula may choose by one, a < b ? x : y; a comparison alone is a constraint")
	}
	root, err := r.node(tree)
	if err != nil {
		return nil, err
	}
	return newFormula(root, r.names, r.columns)
}

// reader takes over the tree of the expression parser, node by node: what is
// not of the language is refused at its place.
type reader struct {
	text    []rune
	names   []string
	columns []int
	depth   int
}

// foreign are characters and pairs of characters that no formula has, with what
// to write instead. The expression parser would give a meaning to the pairs.
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

// characters are those of which formulas are made, besides white space.
const characters = "+-*/^(),<>=?:._"

// read parses a text as an expression of a larger language.
func read(text string) (*reader, ast.Node, error) {
	r := &reader{text: []rune(text)}
	if len(r.text) > MaxLength {
		return nil, nil, tooLong(len(r.text))
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil, &Fault{1, "the formula is empty", "write one, or leave the field out"}
	}
	if err := r.characters(); err != nil {
		return nil, nil, err
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, nil, r.syntax(err)
	}
	return r, tree.Node, nil
}

func tooDeep(column int) error {
	return &Fault{column, fmt.Sprintf("more than %d operations stand within each other", MaxDepth),
		"write a part of it as a quantity of its own"}
}

func tooLong(length int) error {
	return &Fault{Column: 1, Message: fmt.Sprintf("the formula has %d characters", length),
		Remedy: fmt.Sprintf("at most %d are possible; write a part of it as a quantity of its own", MaxLength)}
}

// characters refuses the first character that no formula has.
func (r *reader) characters() error {
	for i, c := range r.text {
		here := string(r.text[i:min(i+2, len(r.text))])
		for _, f := range foreign {
			if strings.HasPrefix(here, f.text) {
				return &Fault{i + 1, fmt.Sprintf("%q has no meaning in a formula", f.text), f.remedy}
			}
		}
		plain := c <= unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsSpace(c))
		if !plain && !strings.ContainsRune(characters, c) {
			return &Fault{i + 1, fmt.Sprintf("%q has no meaning in a formula", string(c)), partsOfFormulas}
		}
	}
	return nil
}

const partsOfFormulas = "a formula is made of numbers, names of letters, digits and underscores, " +
	"+ - * / ^, parentheses, functions, and a < b ? x : y"

// syntax is the parser's error in words of ours.
func (r *reader) syntax(err error) error {
	var e *file.Error
	if !errors.As(err, &e) {
		return &Fault{1, "this is no formula", partsOfFormulas}
	}
	from := min(max(e.From, 0), len(r.text))
	token := strings.TrimSpace(string(r.text[from:min(max(e.To, from), len(r.text))]))
	switch {
	case strings.Contains(e.Message, "literal"):
		return &Fault{from + 1, "the number that ends here is too large", "write numbers as 12, 0.5 or 1e-3"}
	case strings.Contains(e.Message, "number"):
		return &Fault{from + 1, "this is no number", "write numbers as 12, 0.5 or 1e-3"}
	case strings.Contains(e.Message, "EOF"):
		return &Fault{len(r.text) + 1, "the formula ends too early", "something is missing at its end"}
	}
	return &Fault{from + 1, fmt.Sprintf("%q cannot stand here", token), partsOfFormulas}
}

// column returns where a node begins to be what it is: at its operator, a choice at
// its comparison, or at its first character.
func column(n ast.Node) int {
	if choice, ok := n.(*ast.ConditionalNode); ok {
		return column(choice.Cond)
	}
	return n.Location().From + 1
}

func (r *reader) fault(n ast.Node, message, remedy string) error {
	return &Fault{column(n), message, remedy}
}

// binary are the operators between two operands.
var binary = map[string]operation{"+": add, "-": subtract, "*": multiply, "/": divide, "^": power}

func compares(operator string) bool {
	return slices.Contains([]string{"<", "<=", ">", ">="}, operator)
}

// node takes over an expression that is a number.
func (r *reader) node(n ast.Node) (*node, error) {
	if r.depth++; r.depth > MaxDepth {
		return nil, tooDeep(column(n))
	}
	defer func() { r.depth-- }()
	switch n := n.(type) {
	case *ast.IntegerNode:
		return r.number(n, float64(n.Value))
	case *ast.FloatNode:
		return r.number(n, n.Value)
	case *ast.IdentifierNode:
		return r.name(n, n.Value)
	case *ast.MemberNode:
		return r.member(n)
	case *ast.UnaryNode:
		if n.Operator == "-" {
			return r.operation(n, negate, n.Node)
		}
		return nil, r.fault(n, fmt.Sprintf("%q cannot stand before a value", n.Operator), "leave it out")
	case *ast.BinaryNode:
		if op, ok := binary[n.Operator]; ok {
			return r.operation(n, op, n.Left, n.Right)
		}
		if compares(n.Operator) {
			return nil, r.fault(n, "a comparison is no number", "write what it chooses: a < b ? x : y")
		}
	case *ast.ConditionalNode:
		return r.choice(n)
	case *ast.BuiltinNode:
		return r.call(n, n.Name, n.Arguments)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return r.call(n, callee.Value, n.Arguments)
		}
	}
	return nil, r.fault(n, "this is not part of a formula", partsOfFormulas)
}

// decimal is how numbers are written.
var decimal = regexp.MustCompile(`^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

func (r *reader) number(n ast.Node, value float64) (*node, error) {
	at := n.Location()
	if written := string(r.text[at.From:at.To]); !decimal.MatchString(written) {
		return nil, r.fault(n, fmt.Sprintf("%q is no number", written), "write numbers as 12, 0.5 or 1e-3")
	}
	return &node{op: number, value: value, column: column(n)}, nil
}

func (r *reader) name(n ast.Node, text string) (*node, error) {
	if _, function := functions[text]; function {
		return nil, r.fault(n, fmt.Sprintf("%s is a function", text), "write its arguments in parentheses")
	}
	if err := CheckName(text); err != nil {
		return nil, r.fault(n, err.Error(), "give the quantity or parameter another name")
	}
	return r.named(text, column(n)), nil
}

func (r *reader) named(text string, column int) *node {
	i := slices.Index(r.names, text)
	if i < 0 {
		i = len(r.names)
		r.names, r.columns = append(r.names, text), append(r.columns, column)
	}
	return &node{op: name, name: i, column: column}
}

// member takes over reference.NAME.
func (r *reader) member(n *ast.MemberNode) (*node, error) {
	of, isName := n.Node.(*ast.IdentifierNode)
	property, isText := n.Property.(*ast.StringNode)
	if !isName || !isText || of.Value != Reference || n.Optional {
		return nil, r.fault(n.Property, "only reference.NAME has a dot in it",
			"a parameter whose name has a dot or a dash cannot be used in a formula: rename it")
	}
	if err := CheckName(property.Value); err != nil {
		return nil, r.fault(n.Property, err.Error(), "give the quantity or parameter another name")
	}
	return r.named(Reference+"."+property.Value, column(of)), nil
}

func (r *reader) operation(n ast.Node, op operation, args ...ast.Node) (*node, error) {
	out := &node{op: op, column: column(n)}
	for _, a := range args {
		arg, err := r.node(a)
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, arg)
	}
	return out, nil
}

func (r *reader) choice(n *ast.ConditionalNode) (*node, error) {
	condition, ok := n.Cond.(*ast.BinaryNode)
	if !ok || !compares(condition.Operator) {
		return nil, r.fault(n.Cond, "a choice is made by one comparison", "write a < b ? x : y")
	}
	out, err := r.operation(condition, choose, condition.Left, condition.Right, n.Exp1, n.Exp2)
	if err != nil {
		return nil, err
	}
	out.compare = comparison(condition.Operator)
	return out, nil
}

func (r *reader) call(n ast.Node, function string, args []ast.Node) (*node, error) {
	op, ok := functions[function]
	if !ok {
		return nil, r.fault(n, fmt.Sprintf("there is no function %q", function), "there are "+functionNames())
	}
	switch {
	case (op == minimum || op == maximum) && len(args) < 2:
		return nil, r.fault(n, function+" is of two or more values", "write "+function+"(a, b)")
	case op == power && len(args) != 2:
		return nil, r.fault(n, "pow is of two values", "write pow(a, b), or a^b")
	case op != minimum && op != maximum && op != power && len(args) != 1:
		return nil, r.fault(n, function+" is of one value, and has "+strconv.Itoa(len(args)), "write "+function+"(a)")
	}
	return r.operation(n, op, args...)
}
