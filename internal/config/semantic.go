package config

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/advice"
)

// semantic adds the places of the problems that the sections found in their values. It leaves
// out problems that only follow from a known one, so that one mistake is reported
// once, with its cause.
func (d document) semantic(errs field.ErrorList, known Problems) Problems {
	alone := len(errs)+len(known) == 1
	var found Problems
	for _, e := range errs {
		keys := split(e.Field)
		if spoiled(keys, known) || !alone && d.echo(e, keys) {
			continue
		}
		found = append(found, d.problem(d.at(keys, false), e.Field, "%s%s", e.ErrorBody(), supported(e)))
	}
	return found
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// supported suggests the nearest of the values that a section accepts.
func supported(e *field.Error) string {
	value, is := e.BadValue.(string)
	if e.Type != field.ErrorTypeNotSupported || !is {
		return ""
	}
	var values []string
	for _, m := range quoted.FindAllStringSubmatch(e.Detail, -1) {
		values = append(values, m[1])
	}
	return advice.DidYouMean(value, values)
}

// spoiled reports whether the value at keys, or a part of it, has a wrong shape:
// then it is not the value that the author meant. An unknown field spoils nothing;
// a field that stays missing because of it is a separate problem.
func spoiled(keys []string, known Problems) bool {
	for _, p := range known {
		wrong := split(p.Path)
		if n := len(wrong); n > 0 && isIndex(wrong[n-1]) {
			wrong = wrong[:n-1] // an item that cannot be read moves those behind it
		}
		n := min(len(wrong), len(keys))
		if !p.unknown && slices.Equal(wrong[:n], keys[:n]) {
			return true
		}
	}
	return false
}

// echo reports whether e is about a default: those are good, unless the value
// that one is made from is not, as the address of the first node.
func (d document) echo(e *field.Error, keys []string) bool {
	return e.Type == field.ErrorTypeInvalid && e.BadValue != "" && !d.has(keys)
}
