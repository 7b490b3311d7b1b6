package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Comparison is what the present differs in from a baseline.
type Comparison struct {
	Taken   time.Time    `json:"taken"`   // the baseline
	Known   []Finding    `json:"known"`   // findings that it had too; they decide nothing
	Changed []Difference `json:"changed"` // for information
}

// Difference is one thing that became another on some objects.
type Difference struct {
	What    string   `json:"what"` // "kubelet", "image", "node"
	Before  string   `json:"before"`
	Now     string   `json:"now"` // "new": the object was not there
	Objects []string `json:"objects"`
}

const isNew = "new"

// stillThere wants every node and workload that the baseline had.
func stillThere(b *Baseline) rule {
	return rule{
		id: "baseline", title: "Nodes and workloads of the baseline are still there", watches: []kind{daemonSets, deployments, statefulSets}, also: []kind{nodes},
		judge: func(v view) []Finding {
			return append(
				vanished(b.Snapshot.Nodes, v.nodeStates(), "Node ", "airgap join brings a node back; one that was taken out on purpose needs a new baseline"),
				vanished(b.Snapshot.Workloads, v.workloadStates(), "", "install it again; where it was removed on purpose, save a new baseline")...)
		},
		expects: func(view) expectation {
			return expectation{nothing: needs(len(b.Snapshot.Nodes)+len(b.Snapshot.Workloads) > 0, "the baseline has neither nodes nor workloads")}
		},
	}
}

func vanished[T any](before, now map[string]T, prefix, fix string) []Finding {
	var findings []Finding
	for name := range before {
		if _, there := now[name]; !there {
			findings = append(findings, Finding{Object: prefix + name, Saw: "it does not exist any more", Want: "there, as in the baseline", Fix: fix})
		}
	}
	return findings
}

// noRestarts wants no container that runs for good to have been started again
// since the baseline.
func noRestarts(b *Baseline) rule {
	return rule{
		id: "restarts", title: "No container restarted since the baseline", watches: []kind{pods}, also: []kind{nodes}, stays: true,
		judge: func(v view) []Finding { return restarts(b.Snapshot, v) },
		expects: func(v view) expectation {
			return expectation{nothing: needs(v.count(pods) > 0, "there is no pod")}
		},
	}
}

func restarts(before Snapshot, v view) []Finding {
	var findings []Finding
	rebooted := rebooted(before.Nodes, v.nodeStates())
	for name, state := range v.containerStates() {
		total, in := int32(0), []string{}
		for key, pod := range state.Pods {
			if n := restartsOf(before.Containers[name].Pods[key], pod, rebooted[pod.Node]); n > 0 {
				total += n
				in = append(in, pod.Name)
			}
		}
		if total > 0 {
			slices.Sort(in)
			findings = append(findings, Finding{
				Object: name, Saw: fmt.Sprintf("%s since the baseline, in %s", plural(int(total), "restart"), some(in)), Want: "none",
				Fix: "kubectl logs --previous, and kubectl describe, of these pods",
			})
		}
	}
	return findings
}

// restartsOf counts the restarts that were not there before. A pod that is new
// since then, also a static one under its old name, is compared with zero; one
// restart is the host's, where that was started again.
func restartsOf(before, now PodState, rebooted bool) int32 {
	n := now.Restarts
	if before.Restarts <= n {
		n -= before.Restarts
	}
	if rebooted && before.Name != "" {
		n--
	}
	return max(n, 0)
}

func rebooted(before, now map[string]NodeState) map[string]bool {
	all := map[string]bool{}
	for name, n := range now {
		was, there := before[name]
		all[name] = there && was.BootID != n.BootID
	}
	return all
}

// differences tells what became another. What is the same on many objects is
// told once.
func differences(before, now Snapshot) []Difference {
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

// differing collects the objects of each difference.
type differing map[turn][]string

// turn is what became what.
type turn struct{ what, before, now string }

func (d differing) note(object, what, before, now string) {
	if before != now {
		t := turn{what, before, now}
		d[t] = append(d[t], object)
	}
}

func (d differing) sorted() []Difference {
	all := []Difference{}
	for t, objects := range d {
		slices.Sort(objects)
		all = append(all, Difference{t.what, t.before, t.now, objects})
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.What, b.What), slices.Compare(a.Objects, b.Objects), cmp.Compare(a.Before, b.Before))
	})
	return all
}
