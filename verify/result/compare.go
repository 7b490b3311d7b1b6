package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Comparison has the differences between a report and a baseline.
type Comparison struct {
	Taken time.Time `json:"taken"` // of the baseline
	Known []Finding `json:"known"` // findings that the baseline also has; they do not affect the result
	// Elsewhere are findings that are not because of the hosts that were changed; they do not affect the result.
	Elsewhere []Finding    `json:"elsewhere,omitempty"`
	Changed   []Difference `json:"changed"` // for information
}

// Difference is one property that changed in the same way on some objects.
type Difference struct {
	What    string   `json:"what"` // "kubelet", "image", "node"
	Before  string   `json:"before"`
	Now     string   `json:"now"` // "new": the object did not exist
	Objects []string `json:"objects"`
}

const isNew = "new"

// Differences returns the changed properties. The same change on several objects is one
// Difference.
func Differences(before, now Snapshot) []Difference {
	d := differing{}
	for name, n := range now.Nodes {
		was, there := before.Nodes[name]
		if !there {
			d.note("Node "+name, "node", "", isNew)
			continue
		}
		d.note("Node "+name, "kubelet", was.Kubelet, n.Kubelet)
		d.note("Node "+name, "runtime", was.Runtime, n.Runtime)
		d.note("Node "+name, "kernel", was.Kernel, n.Kernel)
		d.note("Node "+name, "operating system", was.OS, n.OS)
		d.note("Node "+name, "roles", strings.Join(was.Roles, ", "), strings.Join(n.Roles, ", "))
		if was.BootID != n.BootID {
			d.note("Node "+name, "host", "running", "started again")
		}
	}
	for name, w := range now.Workloads {
		was, there := before.Workloads[name]
		if !there {
			d.note(name, "workload", "", isNew)
			continue
		}
		d.note(name, "pods wanted", fmt.Sprint(was.Wanted), fmt.Sprint(w.Wanted))
	}
	for name, c := range now.Containers {
		if was, there := before.Containers[name]; there {
			d.note(name, "image", strings.Join(was.Images, ", "), strings.Join(c.Images, ", "))
		}
	}
	return d.sorted()
}

// differing has the objects of each change.
type differing map[change][]string

// change is a property with its old and new value.
type change struct{ what, before, now string }

func (d differing) note(object, what, before, now string) {
	if before != now {
		c := change{what, before, now}
		d[c] = append(d[c], object)
	}
}

func (d differing) sorted() []Difference {
	all := []Difference{}
	for c, objects := range d {
		slices.Sort(objects)
		all = append(all, Difference{c.what, c.before, c.now, objects})
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.What, b.What), slices.Compare(a.Objects, b.Objects), cmp.Compare(a.Before, b.Before))
	})
	return all
}
