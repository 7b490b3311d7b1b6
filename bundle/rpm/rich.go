package rpm

import (
	"fmt"
	"strings"
)

// expression is a requirement: one capability, or several joined by one
// operator, as in "(selinux-policy if kernel)".
type expression struct {
	Capability
	op    string // "" for one capability, "and", "or", "with", "if", or another that is not supported
	terms []expression
}

func (e expression) String() string {
	if e.op == "" {
		return e.Capability.String()
	}
	terms := make([]string, len(e.terms))
	for i, term := range e.terms {
		terms[i] = term.String()
	}
	return "(" + strings.Join(terms, " "+e.op+" ") + ")"
}

// supported names the first operator that is not.
func (e expression) supported() error {
	switch e.op {
	case "", "and", "or", "with", "if":
	case unreadable:
		return fmt.Errorf("its requirement %s is not understood", e.Name)
	default:
		return fmt.Errorf("the operator %q in %s is not supported", e.op, e)
	}
	if e.op == "with" && !e.simple() {
		return fmt.Errorf("nested terms of \"with\" in %s are not supported", e)
	}
	for _, term := range e.terms {
		if err := term.supported(); err != nil {
			return err
		}
	}
	return nil
}

func (e expression) simple() bool {
	for _, term := range e.terms {
		if term.op != "" {
			return false
		}
	}
	return true
}

const unreadable = "unreadable"

// maxDepth bounds the nesting of foreign expressions.
const maxDepth = 32

// parseExpression reads a requirement. A rich one is a name in parentheses;
// what cannot be
// read has the operator unreadable.
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

// richWords splits at blanks and at the parentheses of groups, not at those
// inside names such as "libc.so.6()(64bit)".
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
		// "A if B else C" has three terms; its second operator is kept.
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
		ranged, err := ParseCapability(name + " " + p.next() + " " + p.next())
		if err != nil {
			return expression{}, false
		}
		c = ranged
	}
	return expression{Capability: c}, true
}
