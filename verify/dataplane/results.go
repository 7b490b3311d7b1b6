package dataplane

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Result is a target that does not answer correctly from some nodes.
type Result struct{ Target, Saw, Want, Fix string }

// maxTold is the number of different texts of a path in one result.
const maxTold = 3

// Results joins the failures of all pods, which have the nodes from which they failed. Failures of
// paths have numbers, so those to one node are one result. list formats names of nodes.
func Results(failed map[Failure][]string, list func([]string) string) (all []Result) {
	paths := map[string][]string{} // by target
	keys := slices.SortedFunc(maps.Keys(failed), func(a, b Failure) int { return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Saw, b.Saw)) })
	for _, f := range keys {
		from := slices.Sorted(slices.Values(failed[f]))
		if f.ofPath() {
			paths[f.Target] = append(paths[f.Target], "from "+list(from)+": "+f.Saw)
			continue
		}
		all = append(all, Result{f.Target, f.Saw + " from " + list(from), "an answer from every node", f.Fix()})
	}
	for _, target := range slices.Sorted(maps.Keys(paths)) {
		texts := paths[target]
		saw := strings.Join(texts[:min(maxTold, len(texts))], "; ")
		if n := len(texts) - maxTold; n > 0 {
			saw += fmt.Sprintf("; and %d more", n)
		}
		f := Failure{Target: target}
		all = append(all, Result{target, saw, f.want(), f.Fix()})
	}
	return all
}

func (f Failure) ofFlows() bool { return strings.HasPrefix(f.Target, flowsTo) }

func (f Failure) ofPath() bool { return f.want() != "" }

// rank is the position of a failure in a list: a long connection that broke hours ago comes after
// each failure that exists now.
func (f Failure) rank() int {
	switch {
	case strings.HasPrefix(f.Target, longTo):
		return 2
	case f.ofPath():
		return 1
	default:
		return 0
	}
}

// want is the desired state of a path, or "" for another target.
func (f Failure) want() string {
	switch {
	case f.ofFlows():
		return "all flows pass"
	case strings.HasPrefix(f.Target, packetsTo):
		return fmt.Sprintf("less than %.1f %% of the packets are lost", lossCounts)
	case strings.HasPrefix(f.Target, burstsTo):
		return fmt.Sprintf("less than %d %% of the packets of a burst are lost", policedFrom)
	case strings.HasPrefix(f.Target, orderTo):
		return fmt.Sprintf("less than %d %% of the packets of one flow arrive behind later ones", reorderCounts)
	case strings.HasPrefix(f.Target, tripsTo):
		return "round trips of at most a tenth of etcd's election timeout"
	case strings.HasPrefix(f.Target, longTo):
		return "an open connection stays open while both pods run"
	default:
		return ""
	}
}
