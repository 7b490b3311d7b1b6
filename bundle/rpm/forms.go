package rpm

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// maxForms limits the clauses of one expression from a repository.
const maxForms = 4096

// errForms reports an expression with more clauses than that.
var errForms = errors.New("a requirement or conflict has too many alternatives")

// normal returns the conjunctive normal form of x, or of its negation.
func (p *problem) normal(x expression, not bool) ([][]atom, error) {
	switch x.op {
	case "not":
		return p.normal(x.terms[0], !not)
	case "and", "or":
		return p.joined(x, not)
	}
	s, err := p.set(x)
	switch {
	case err != nil:
		return nil, err
	case s.installed && not:
		return [][]atom{{}}, nil
	case s.installed:
		return nil, nil
	}
	return [][]atom{{{s, not}}}, nil
}

// joined returns the normal form of several terms: all forms, or their product.
func (p *problem) joined(x expression, not bool) ([][]atom, error) {
	product := (x.op == "or") != not
	var all [][]atom
	if product {
		all = [][]atom{{}}
	}
	for _, term := range x.terms {
		forms, err := p.normal(term, not)
		if err != nil {
			return nil, err
		}
		if !product {
			all = append(all, forms...)
			continue
		}
		if len(all)*len(forms) > maxForms {
			return nil, fmt.Errorf("%w: %.200s", errForms, x)
		}
		if len(forms) == 1 {
			for i := range all {
				all[i] = append(all[i], forms[0]...)
			}
			continue
		}
		var each [][]atom
		for _, a := range all {
			for _, b := range forms {
				each = append(each, slices.Concat(a, b))
			}
		}
		p.steps += int64(len(each))
		all = each
	}
	return all, nil
}

// satisfying returns the packages that satisfy a capability, or all terms of a set.
func (u *universe) satisfying(ctx context.Context, x expression) ([]*entry, error) {
	if x.op == "" {
		return u.offering(ctx, x.Capability)
	}
	return members(x, func(term expression) ([]*entry, error) { return u.satisfying(ctx, term) })
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
		if i == 0 {
			all = slices.Clone(list)
			continue
		}
		in := make(map[T]bool, len(list))
		for _, e := range list {
			in[e] = true
		}
		switch x.op {
		case "or":
			for _, e := range all {
				delete(in, e)
			}
			all = append(all, slices.DeleteFunc(slices.Clone(list), func(e T) bool { return !in[e] })...)
		case "with":
			all = slices.DeleteFunc(all, func(e T) bool { return !in[e] })
		default:
			all = slices.DeleteFunc(all, func(e T) bool { return in[e] })
		}
	}
	return all, nil
}
