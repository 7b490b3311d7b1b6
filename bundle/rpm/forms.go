package rpm

import (
	"fmt"
	"slices"
)

// literal is a package that must be present, or absent.
type literal struct {
	entry *entry
	not   bool
}

// maxForms limits the number of forms of an expression from a repository.
const maxForms = 4096

// normal returns the conjunctive normal form of x, or of its negation. The
// negation considers only numbered packages other than self.
func (p *problem) normal(x expression, not bool, self *entry) ([][]literal, error) {
	switch x.op {
	case "not":
		return p.normal(x.terms[0], !not, self)
	case "and", "or":
		return p.joined(x, not, self)
	}
	there, err := p.system.providers(p.ctx, p.universe, x)
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		if not {
			return [][]literal{{}}, nil
		}
		return nil, nil
	}
	offering, err := p.offering(x)
	if err != nil {
		return nil, err
	}
	var all [][]literal
	var one []literal
	for _, e := range offering {
		if not && e != self && p.number[e] > 0 {
			all = append(all, []literal{{e, true}})
		}
		one = append(one, literal{e, false})
	}
	if not {
		return all, nil
	}
	return [][]literal{one}, nil
}

// joined returns the normal form of several terms: all forms, or their product.
func (p *problem) joined(x expression, not bool, self *entry) ([][]literal, error) {
	product := (x.op == "or") != not
	var all [][]literal
	if product {
		all = [][]literal{{}}
	}
	for _, term := range x.terms {
		forms, err := p.normal(term, not, self)
		if err != nil {
			return nil, err
		}
		if !product {
			all = append(all, forms...)
			continue
		}
		if len(all)*len(forms) > maxForms {
			return nil, fmt.Errorf("the requirement %s has too many alternatives", x)
		}
		var each [][]literal
		for _, a := range all {
			for _, b := range forms {
				each = append(each, slices.Concat(a, b))
			}
		}
		all = each
	}
	return all, nil
}

// offering returns the packages that satisfy a capability, or all terms of a set.
func (p *problem) offering(x expression) ([]*entry, error) {
	if x.op == "" {
		if list, ok := p.offers[x.Capability]; ok {
			return list, nil
		}
		list, err := p.universe.offering(p.ctx, x.Capability)
		p.offers[x.Capability] = list
		return list, err
	}
	return members(x, p.offering)
}

// members evaluates a set of terms: both for "with", the first minus the second
// for "without", any for "or".
func members[T comparable](x expression, of func(expression) ([]T, error)) ([]T, error) {
	var all []T
	for i, term := range x.terms {
		list, err := of(term)
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0:
			all = slices.Clone(list)
		case x.op == "or":
			all = append(all, list...)
		case x.op == "with":
			all = slices.DeleteFunc(all, func(e T) bool { return !slices.Contains(list, e) })
		default:
			all = slices.DeleteFunc(all, func(e T) bool { return slices.Contains(list, e) })
		}
	}
	return all, nil
}
