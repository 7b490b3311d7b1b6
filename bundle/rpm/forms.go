package rpm

import (
	"fmt"
	"slices"
)

// literal is a package that has to be there, or must not be.
type literal struct {
	entry *entry
	not   bool
}

// maxForms bounds what a foreign expression may grow to.
const maxForms = 4096

// normal is the conjunctive normal form of x, or of its opposite. In the
// opposite only numbered packages count, and not self.
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

// joined is the normal form of terms: side by side, or each with each.
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
			return nil, fmt.Errorf("the requirement %s has too many forms", x)
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

// offering are the packages that satisfy a capability, or all terms at once.
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

// members are those that a set of terms leaves over: both "with", the first
// "without" the second, any of "or".
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
