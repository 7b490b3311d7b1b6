package chart

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/workload"
)

// difference is a place where two renderings of one chart differ. Usually it is a generated
// secret. airgap does not bundle it, because each bundle would have another value, and the
// secret would be on the USB drive.
type difference struct {
	template string // "till/templates/secret.yaml"
	document int    // in the template, from 1; 0 if the number of documents differs
	field    string // "data.password"
	title    string // "Secret shop/till (till/templates/secret.yaml), data.password"
}

// same reports whether it is the same place. It ignores the title, because the name of the
// object may be generated too.
func (d difference) same(other difference) bool {
	d.title = other.title
	return d == other
}

// differences compares the installed documents of two renderings.
func (r *rendering) differences(other *rendering, namespace string) []difference {
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(r.documents)) {
		one, two := r.documents[name], other.documents[name]
		if len(one) != len(two) {
			all = append(all, difference{template: name, title: name})
			continue
		}
		for i := range one {
			if string(one[i].Text) == string(two[i].Text) {
				continue
			}
			all = append(all, different(one[i], two[i], namespace)...)
		}
	}
	return all
}

// different returns the objects and fields that differ, or the document if it cannot
// compare them. It ignores comments.
func different(a, b workload.Document, namespace string) []difference {
	one, errOne := a.Read()
	two, errTwo := b.Read()
	if errOne != nil || errTwo != nil || len(one.Objects) != len(two.Objects) {
		return []difference{{template: a.File, document: a.Number, title: a.At()}}
	}
	var all []difference
	for i, o := range one.Objects {
		for _, at := range fields(o.Object, two.Objects[i].Object, "") {
			all = append(all, difference{a.File, a.Number, at, fmt.Sprintf("%s (%s), %s", o.Title(namespace), a.File, at)})
		}
	}
	return all
}

// fields returns the paths of the values that differ.
func fields(a, b any, at string) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	var below []string
	switch a := a.(type) {
	case map[string]any:
		other, is := b.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(a)) {
			if value, has := other[key]; is && has {
				below = append(below, fields(a[key], value, strings.TrimPrefix(at+"."+key, "."))...)
			}
		}
	case []any:
		if other, is := b.([]any); is && len(other) == len(a) {
			for i := range a {
				below = append(below, fields(a[i], other[i], fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	}
	switch {
	case len(below) > 0:
		return below
	case at == "":
		return []string{"all fields"}
	default:
		return []string{at}
	}
}
