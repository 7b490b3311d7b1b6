package chart

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	helm "helm.sh/helm/v4/pkg/chart/v2"

	"airgap.dev/airgap/bundle/workload"
)

// compare refuses a chart that came out in two ways. Such a value is mostly a
// secret, which is nothing to be made here: it would travel on the stick.
func (r *rendering) compare(other *rendering, release Release) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if isNotes(name) || r.files[name] == other.files[name] {
			continue
		}
		for _, what := range different(name, r.files[name], other.files[name], release.Namespace) {
			errs = append(errs, fmt.Errorf("%s is another one each time the chart is rendered, as random values, generated keys and times are: set it by the chart's values%s", what, r.readBy(name)))
		}
	}
	return errors.Join(errs...)
}

// different names the objects and fields that differ, else the template.
func different(name, a, b, namespace string) []string {
	one, errOne := workload.Parse(name, []byte(a))
	two, errTwo := workload.Parse(name, []byte(b))
	if errOne != nil || errTwo != nil || len(one) != len(two) {
		return []string{name}
	}
	var all []string
	for i := range one {
		if at := difference(one[i].Object, two[i].Object, ""); at != "" {
			all = append(all, fmt.Sprintf("%s (%s), %s", one[i].Title(namespace), name, at))
		}
	}
	if len(all) == 0 {
		return nil // a comment
	}
	return all
}

// difference is the path to the first value that differs.
func difference(a, b any, at string) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	switch a := a.(type) {
	case map[string]any:
		other, is := b.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(a)) {
			if value, has := other[key]; is && has {
				if below := difference(a[key], value, strings.TrimPrefix(at+"."+key, ".")); below != "" {
					return below
				}
			}
		}
	case []any:
		if other, is := b.([]any); is && len(other) == len(a) {
			for i := range a {
				if below := difference(a[i], other[i], fmt.Sprintf("%s[%d]", at, i)); below != "" {
					return below
				}
			}
		}
	}
	if at == "" {
		return "the whole"
	}
	return at
}

var valueRead = regexp.MustCompile(`\.Values\.([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)`)

// readBy lists the values that a template reads, as they are written in the
// values of the chart at the top.
func (r *rendering) readBy(name string) string {
	owner, prefix := r.chart, ""
	for _, sub := range strings.Split(name, "/charts/")[1:] {
		sub, _, _ = strings.Cut(sub, "/")
		if i := slices.IndexFunc(owner.Dependencies(), func(c *helm.Chart) bool { return c.Name() == sub }); i >= 0 {
			owner, prefix = owner.Dependencies()[i], prefix+sub+"."
		}
	}
	var all []string
	for _, t := range owner.Templates {
		if !strings.HasSuffix(name, "/"+t.Name) {
			continue
		}
		for _, m := range valueRead.FindAllStringSubmatch(string(t.Data), -1) {
			all = append(all, prefix+m[1])
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	const most = 12
	if len(all) == 0 {
		return ""
	}
	if len(all) > most {
		all = append(all[:most], "…")
	}
	return "; its template reads " + strings.Join(all, ", ")
}
