package chart

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	helm "helm.sh/helm/v4/pkg/chart/v2"
)

// Limits of the search for values.
const (
	maxTrials  = 400 // each renders twice
	searchTime = 20 * time.Second
	maxNamed   = 8 // places in an error
)

// unstable returns the error for a chart that generates values. It names the values that
// prevent this. To find them, it renders the chart with each candidate.
func (c *Chart) unstable(r Release, first *rendering, differ []difference) error {
	t := trials{chart: c, release: r, differ: differ, left: maxTrials, until: time.Now().Add(searchTime)}
	t.release.quick = true
	t.release.only = t.few(first)
	return fmt.Errorf("%s: %s", generated(differ), t.advice(first.candidates(differ, r.Values)))
}

// generated describes the differences.
func generated(differ []difference) string {
	var all []string
	for _, d := range differ {
		all = append(all, d.title)
	}
	if n := len(all) - maxNamed; n > 0 {
		all = append(all[:maxNamed], fmt.Sprintf("%d more", n))
	}
	verb := "differs"
	if len(all) > 1 {
		verb = "differ"
	}
	return fmt.Sprintf("%s %s between two renderings, because the chart generates a password, a key or a time", strings.Join(all, "; "), verb)
}

// trials renders a chart with candidates.
type trials struct {
	chart   *Chart
	release Release
	differ  []difference
	left    int
	until   time.Time

	resolves   map[string]map[int]bool // the differences that one value resolves, by its path
	incomplete bool                    // not all values were tried
}

// advice returns the instruction for the user: the values to set.
func (t *trials) advice(all []candidate) string {
	t.alone(all)
	var names, values []candidate
	for _, one := range all {
		switch {
		case one.rank == switched:
		case reference.MatchString(one.path):
			names = append(names, one)
		default:
			values = append(values, one)
		}
	}
	var ways []string
	if set, complete := t.smallest(values); complete {
		ways = append(ways, "set "+paths(set)+" in the add-on's values")
	}
	if set, complete := t.smallest(names); complete {
		ways = append(ways, "set "+paths(set)+" to the name of a Secret that exists in the cluster")
	}
	if len(ways) > 0 {
		return strings.Join(ways, ", or ")
	}
	set, complete := t.smallest(all)
	switch {
	case complete:
		return "set " + assignments(set) + " in the add-on's values"
	case len(set) > 0:
		return "set " + assignments(set) + " in the add-on's values; airgap found no value for the remaining differences: " + t.rest(set)
	case t.incomplete || t.spent():
		return "the search for values reached its limit; look in the chart's values for the value that sets it"
	default:
		return "no value of the chart prevents this: change a copy of the chart, and set chart.path to the copy"
	}
}

// paths returns the paths of values: "a, b and c".
func paths(set []candidate) string {
	var all []string
	for _, c := range set {
		all = append(all, c.path)
	}
	return list(all)
}

// assignments returns the paths of values, with true or false for switches.
func assignments(set []candidate) string {
	var all []string
	for _, c := range set {
		switch to, is := c.set.(bool); {
		case is:
			all = append(all, fmt.Sprintf("%s: %v", c.path, to))
		case reference.MatchString(c.path):
			all = append(all, c.path+" (the name of a Secret that exists in the cluster)")
		default:
			all = append(all, c.path)
		}
	}
	return list(all)
}

func list(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return strings.Join(all, "")
}

func (t *trials) rest(set []candidate) string {
	rest, _ := t.try(set)
	var all []string
	for _, d := range rest {
		all = append(all, d.title)
	}
	return strings.Join(all[:min(len(all), maxNamed)], "; ")
}

// alone tries each value without the others.
func (t *trials) alone(all []candidate) {
	t.resolves = map[string]map[int]bool{}
	half := time.Now().Add(time.Until(t.until) / 2) // the remaining time is for sets of values
	for _, one := range all {
		if t.left <= maxTrials/2 || time.Now().After(half) {
			t.incomplete = true
			return
		}
		rest, is := t.try([]candidate{one})
		if !is {
			continue
		}
		resolved := map[int]bool{}
		for i, d := range t.differ {
			if !slices.ContainsFunc(rest, d.same) {
				resolved[i] = true
			}
		}
		if len(resolved) > 0 {
			t.resolves[one.path] = resolved
		}
	}
}

// smallest returns a small set of values that resolves the differences; complete is false if
// some remain.
func (t *trials) smallest(all []candidate) (set []candidate, complete bool) {
	open := map[int]bool{}
	for i := range t.differ {
		open[i] = true
	}
	for len(open) > 0 {
		best, most := candidate{}, 0
		for _, one := range all {
			if n := overlap(t.resolves[one.path], open); n > most {
				best, most = one, n
			}
		}
		if most == 0 {
			break
		}
		set = append(set, best)
		for i := range t.resolves[best.path] {
			delete(open, i)
		}
	}
	left := t.count(set)
	if left > 0 {
		set, left = t.together(all, set, left)
	}
	set = t.needed(set, left)
	slices.SortFunc(set, func(a, b candidate) int { return strings.Compare(a.path, b.path) })
	return set, left == 0
}

// together tries values that work only in combination, such as a certificate with its key:
// first the values of one mapping, then all.
func (t *trials) together(all, set []candidate, left int) ([]candidate, int) {
	groups := map[string][]candidate{}
	var order []string
	for _, one := range all {
		parent := path.Dir(strings.ReplaceAll(one.path, ".", "/"))
		if groups[parent] == nil {
			order = append(order, parent)
		}
		groups[parent] = append(groups[parent], one)
	}
	more := [][]candidate{}
	for _, parent := range order {
		if len(groups[parent]) > 1 {
			more = append(more, groups[parent])
		}
	}
	for _, group := range append(more, all) {
		wider := union(set, group)
		if n := t.count(wider); n < left {
			set, left = t.needed(wider, n), n
		}
		if left == 0 {
			break
		}
	}
	return set, left
}

func union(a, b []candidate) []candidate {
	all := slices.Clone(a)
	for _, one := range b {
		if !slices.ContainsFunc(a, func(c candidate) bool { return c.path == one.path }) {
			all = append(all, one)
		}
	}
	return all
}

// needed removes values that do not reduce the differences, the least likely first.
func (t *trials) needed(set []candidate, left int) []candidate {
	for i := len(set) - 1; i >= 0 && len(set) > 1; i-- {
		fewer := slices.Delete(slices.Clone(set), i, i+1)
		if t.count(fewer) <= left {
			set = fewer
		}
	}
	return set
}

// count returns the number of remaining differences, or more than all if the chart refuses
// the values.
func (t *trials) count(set []candidate) int {
	if len(set) == 0 {
		return len(t.differ)
	}
	rest, is := t.try(set)
	if !is {
		return len(t.differ) + 1
	}
	return len(rest)
}

// overlap returns the number of elements that are in both.
func overlap(a, b map[int]bool) int {
	n := 0
	for i := range a {
		if b[i] {
			n++
		}
	}
	return n
}

func (t *trials) spent() bool { return t.left <= 0 || time.Now().After(t.until) }

// try renders with values; is is false if the chart refuses them.
func (t *trials) try(set []candidate) (rest []difference, is bool) {
	if t.spent() {
		return nil, false
	}
	t.left--
	r := t.release
	r.Values = clone(r.Values)
	for _, one := range set {
		if !put(r.Values, one.path, one.set) {
			return nil, false
		}
	}
	_, rest, err := t.chart.renderTwice(r)
	return rest, err == nil
}

// put sets a value by its path. It returns false if a part of the path is not a mapping.
func put(values map[string]any, path string, value any) bool {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		below, is := values[key].(map[string]any)
		if values[key] == nil {
			below, is = map[string]any{}, true
			values[key] = below
		}
		if !is {
			return false
		}
		values = below
	}
	values[keys[len(keys)-1]] = value
	return true
}

// few returns the templates that are sufficient for trials: templates with differences, and
// files that they include. It returns nil, for all, if their result is different without the
// others.
func (t *trials) few(first *rendering) map[string]bool {
	only := map[string]bool{}
	for _, d := range t.differ {
		only[d.template] = true
	}
	texts := map[string]string{}
	collectTexts(first.chart, texts)
	for grown := true; grown; {
		grown = false
		for name := range texts {
			for of := range only {
				if !only[name] && strings.Contains(texts[of], "/"+path.Base(name)) {
					only[name], grown = true, true
				}
			}
		}
	}
	trimmed := *t
	trimmed.release.only = only
	if rest, is := trimmed.try(nil); !is || !slices.EqualFunc(rest, t.differ, difference.same) {
		return nil
	}
	return only
}

func collectTexts(c *helm.Chart, into map[string]string) {
	for _, f := range c.Templates {
		into[path.Join(c.ChartFullPath(), f.Name)] = string(f.Data)
	}
	for _, d := range c.Dependencies() {
		collectTexts(d, into)
	}
}

// trim removes all templates from a chart except those in only and named templates.
func trim(c *helm.Chart, only map[string]bool) {
	c.Templates = slices.DeleteFunc(slices.Clone(c.Templates), func(f *common.File) bool {
		return !only[path.Join(c.ChartFullPath(), f.Name)] && !strings.HasPrefix(path.Base(f.Name), "_")
	})
	for _, d := range c.Dependencies() {
		trim(d, only)
	}
}
