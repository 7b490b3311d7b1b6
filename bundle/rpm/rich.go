package rpm

import (
	"fmt"
	"slices"
	"strings"
)

// expression is a requirement: one capability, or several with one operator,
// as in "(selinux-policy if kernel)".
type expression struct {
	Capability
	op    string // "" for one capability, "and", "or", "with", "if", "if else" and so on
	terms []expression
}

func (e expression) String() string {
	if e.op == "" || e.op == unreadable {
		return e.Capability.String()
	}
	terms := make([]string, len(e.terms))
	for i, term := range e.terms {
		terms[i] = term.String()
	}
	if op, three := strings.CutSuffix(e.op, " else"); three && len(terms) == 3 {
		return "(" + terms[0] + " " + op + " " + terms[1] + " else " + terms[2] + ")"
	}
	return "(" + strings.Join(terms, " "+e.op+" ") + ")"
}

// terms is the number of terms of an operator; -1 is two or more.
func terms(op string) int {
	switch op {
	case "and", "or", "with":
		return -1
	case "if", "unless", "without":
		return 2
	case "if else", "unless else":
		return 3
	}
	return 0
}

// supported fails on the first part that rpm does not define.
func (e expression) supported() error { return e.check(false) }

func (e expression) check(inSet bool) error {
	if e.op == "" {
		return nil
	}
	if e.op == unreadable {
		return fmt.Errorf("airgap cannot parse its requirement %s", e.Name)
	}
	n := terms(e.op)
	if n == 0 || n > 0 && n != len(e.terms) || inSet && !e.set() && e.op != "or" {
		return fmt.Errorf("the operator %q in %s is not supported", e.op, e)
	}
	for _, term := range e.terms {
		if err := term.check(inSet || e.set()); err != nil {
			return err
		}
	}
	return nil
}

// set reports whether one package must satisfy all terms.
func (e expression) set() bool { return e.op == "with" || e.op == "without" }

// several reports whether several packages can decide about it. "A or B" of capabilities is one set
// of packages.
func (e expression) several() bool {
	if e.op == "or" {
		return slices.ContainsFunc(e.terms, expression.several)
	}
	return e.op != "" && !e.set()
}

// plain returns an equivalent expression with only "and", "or" and "not".
// "A unless B" is for conflicts and means A and not B, see rpm's manual on
// boolean dependencies.
func (e expression) plain() expression {
	if e.op == "" || e.set() {
		return e
	}
	terms := make([]expression, len(e.terms))
	for i, term := range e.terms {
		terms[i] = term.plain()
	}
	join := func(op string, terms ...expression) expression { return expression{op: op, terms: terms} }
	not := func(x expression) expression { return join("not", x) }
	switch e.op {
	case "if":
		return join("or", terms[0], not(terms[1]))
	case "if else":
		return join("and", join("or", terms[0], not(terms[1])), join("or", terms[2], terms[1]))
	case "unless":
		return join("and", terms[0], not(terms[1]))
	case "unless else":
		return join("and", join("or", terms[0], terms[1]), join("or", terms[2], not(terms[1])))
	}
	return join(e.op, terms...)
}

const unreadable = "unreadable"

// maxDepth limits the nesting of expressions from repositories.
const maxDepth = 32

// parseExpression parses a requirement. The name of a rich requirement is in
// parentheses. If it cannot be parsed, the operator is unreadable.
func parseExpression(c Capability) expression {
	if !strings.HasPrefix(c.Name, "(") {
		return expression{Capability: c}
	}
	p := &richParser{words: richWords(c.Name)}
	e, ok := p.group(0)
	if !ok || len(p.words) > 0 {
		return expression{Capability: c, op: unreadable}
	}
	return e
}

// richWords splits at blanks and at the parentheses of groups, but not at
// parentheses inside names such as "libc.so.6()(64bit)".
func richWords(s string) []string {
	var words []string
	depth, start := 0, 0
	flush := func(end int) {
		if end > start {
			words = append(words, s[start:end])
		}
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' && depth == 0:
			flush(i)
			start = i + 1
		case c == '(' && i == start:
			words = append(words, "(")
			start = i + 1
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ')':
			flush(i)
			words = append(words, ")")
			start = i + 1
		}
	}
	flush(len(s))
	return words
}

type richParser struct{ words []string }

func (p *richParser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

// group reads "(", terms joined by one operator, ")".
func (p *richParser) group(depth int) (expression, bool) {
	if p.next() != "(" || depth > maxDepth {
		return expression{}, false
	}
	var e expression
	for {
		term, ok := p.term(depth)
		if !ok {
			return e, false
		}
		e.terms = append(e.terms, term)
		word := p.next()
		if word == ")" {
			break
		}
		// "A if B else C" has three terms and two operators.
		if e.op != "" && e.op != word {
			word = e.op + " " + word
		}
		e.op = word
	}
	if len(e.terms) == 1 {
		return e.terms[0], true
	}
	return e, e.op != ""
}

func (p *richParser) term(depth int) (expression, bool) {
	if len(p.words) > 0 && p.words[0] == "(" {
		return p.group(depth + 1)
	}
	name := p.next()
	if name == "" || name == ")" {
		return expression{}, false
	}
	c := Capability{Name: name}
	if len(p.words) > 1 && strings.ContainsAny(p.words[0][:1], "<>=") {
		sign := p.next()
		ranged, err := CapabilityOf(name, sign, p.next())
		if err != nil || ranged.Flags == "" {
			return expression{}, false
		}
		c = ranged
	}
	return expression{Capability: c}, true
}
