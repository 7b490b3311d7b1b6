package verify

import (
	"fmt"
	"strings"
	"time"
)

// lateAfter is how long an object that was deleted may still be there when its grace
// period is over: the kubelet unmounts volumes and removes the network then.
const lateAfter = time.Minute

// terminating is judged by the clock, since an object that stays sends no event.
func terminating(judged func(namespace string) bool) rule {
	return rule{
		id: "terminating", title: "Deleted objects and pods of removed nodes are gone", every: 10 * time.Second,
		watches: []kind{pods}, also: []kind{namespaceObjects, nodes, daemonSets, deployments, statefulSets, replicaSets, jobs, leases},
		judge: func(v view) []Finding { return append(judgeLeaving(v, judged), judgeOrphans(v, judged)...) },
	}
}

// judgeLeaving gives all but pods the time that the pods of their namespace have: a
// namespace and a workload that is deleted in the foreground wait for these.
func judgeLeaving(v view, judged func(namespace string) bool) []Finding {
	list := v.departures()
	graceOf := map[string]time.Time{}
	for _, d := range list {
		if d.kind == "Pod" && d.until.After(graceOf[d.namespace]) {
			graceOf[d.namespace] = d.until
		}
	}
	var findings []Finding
	now := v.serversNow()
	for _, d := range list {
		until, home := d.until, d.namespace
		if d.kind == "Namespace" {
			home = d.name
		}
		if grace := graceOf[home]; d.kind != "Pod" && grace.After(until) {
			until = grace
		}
		if now.Sub(until) > lateAfter && (home == "" || judged(home)) {
			findings = append(findings, Finding{
				Object: d.title(), Saw: d.why(v), Want: fmt.Sprintf("gone %s after its grace period at most", lateAfter), Fix: d.fix(v),
			})
		}
	}
	return findings
}

// serversNow is the time by the API servers' clocks, which date a deletion: of those whose
// heartbeats were heard the one that is most behind, else this computer's.
func (v view) serversNow() time.Time {
	now, heard := v.now, false
	for _, node := range v.allNodes() {
		h, known := v.heard.last(leaseOf(node.Name))
		if at := v.now.Add(h.ahead); known && ofControlPlane(node) && (!heard || at.Before(now)) {
			now, heard = at, true
		}
	}
	return now
}

// why names what holds a departure.
func (d departure) why(v view) string {
	saw := []string{"Terminating since " + d.until.UTC().Format(time.RFC3339)}
	if d.kind == "Pod" {
		saw[0] = "Terminating, and its grace period ended at " + d.until.UTC().Format(time.RFC3339)
	}
	if len(d.finalizers) > 0 {
		saw = append(saw, "held by the finalizers "+strings.Join(d.finalizers, ", "))
	}
	if d.held != "" {
		saw = append(saw, d.held)
	}
	if node := d.silentNode(v); node != "" {
		saw = append(saw, node)
	}
	return strings.Join(saw, "; ")
}

// silentNode says that the node whose kubelet has to end a pod cannot do it, or "".
func (d departure) silentNode(v view) string {
	if d.node == "" || !v.has(nodes) {
		return ""
	}
	switch node := v.node(d.node); {
	case node == nil:
		return "its node " + d.node + " does not exist"
	case notReady(node) != "":
		return "its node " + d.node + " is " + notReady(node)
	default:
		return ""
	}
}

func (d departure) fix(v view) string {
	in := ""
	if d.namespace != "" {
		in = " -n " + d.namespace
	}
	get := fmt.Sprintf("kubectl%s get %s %s -o yaml", in, strings.ToLower(d.kind), d.name)
	switch {
	case len(d.finalizers) > 0:
		return fmt.Sprintf("%s; repair the controller of the finalizer; only where it is gone for good: kubectl%s patch %s %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'",
			get, in, strings.ToLower(d.kind), d.name)
	case d.kind == "Namespace":
		return get + "; kubectl get apiservices; kubectl -n " + d.name + " get all"
	case d.silentNode(v) != "":
		return "bring the node " + d.node + " back; where it is gone for good: airgap remove " + d.node
	case d.node != "":
		return "on " + d.node + ": journalctl -u kubelet --since -15min | grep " + d.name + "; crictl pods --name " + d.name
	default:
		return get
	}
}

// judgeOrphans finds pods of nodes that do not exist: their status stays as it was, and
// the garbage collector of pods deletes them within a minute where it works. It looks at
// all pods, since an index by node takes more memory than looking each ten seconds is worth.
func judgeOrphans(v view, judged func(namespace string) bool) []Finding {
	exists := map[string]bool{"": true}
	for _, node := range v.allNodes() {
		exists[node.Name] = true
	}
	if len(exists) == 1 {
		return nil // nodes may not be seen, or nodes-ready finds that there are none
	}
	var findings []Finding
	for p := range each[*keptPod](v, pods) {
		if !exists[p.node] && !p.going && judged(p.namespace) {
			findings = append(findings, Finding{
				Object: p.title("Pod"), Saw: "its node " + p.node + " does not exist", Want: "deleted with its node",
				Fix: fmt.Sprintf("kubectl -n %s delete pod %s --force; airgap verify --only leaders", p.namespace, p.name),
			})
		}
	}
	return findings
}
