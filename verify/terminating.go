package verify

import (
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/verify/nodestate"
)

// lateAfter is how long a deleted object may exist after its grace period. The kubelet unmounts
// volumes and removes the network in this time.
const lateAfter = time.Minute

// terminating is evaluated periodically, because an object that stays sends no event.
func terminating(judged func(namespace string) bool) rule {
	return rule{
		id: "terminating", title: "Deleted objects and pods of removed nodes are gone", every: 10 * time.Second,
		watches: []kind{pods}, also: []kind{namespaceObjects, nodes, daemonSets, deployments, statefulSets, replicaSets, jobs, leases},
		judge: func(v view) []Finding { return append(judgeDeletions(v, judged), judgeOrphans(v, judged)...) },
	}
}

// judgeDeletions gives other objects the same time as the pods of their namespace: a namespace, and
// a workload with foreground deletion, wait for their pods.
func judgeDeletions(v view, judged func(namespace string) bool) []Finding {
	list := v.deletedObjects()
	graceOf := map[string]time.Time{}
	for _, d := range list {
		if d.kind == "Pod" && d.until.After(graceOf[d.namespace]) {
			graceOf[d.namespace] = d.until
		}
	}
	var findings []Finding
	ahead, _ := v.serversAhead()
	for _, d := range list {
		until, home := d.until, d.namespace
		if d.kind == "Namespace" {
			home = d.name
		}
		if grace := graceOf[home]; d.kind != "Pod" && grace.After(until) {
			until = grace
		}
		if v.seenUntil(pods, d.watchedAs()).Add(ahead).Sub(until) > lateAfter && (home == "" || judged(home)) {
			findings = append(findings, Finding{
				Object: d.title(), Saw: d.why(v), Want: fmt.Sprintf("gone at most %s after its grace period", lateAfter), Fix: d.fix(v),
			})
		}
	}
	return findings
}

// why returns the reasons that block a deletion.
func (d deletedObject) why(v view) string {
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

// silentNode returns why the node of a pod cannot end it, or "".
func (d deletedObject) silentNode(v view) string {
	if d.node == "" || !v.has(nodes) {
		return ""
	}
	switch node := v.node(d.node); {
	case node == nil:
		return "its node " + d.node + " does not exist"
	case nodestate.NotReady(node) != "":
		return "its node " + d.node + ": " + nodestate.NotReady(node)
	default:
		return ""
	}
}

func (d deletedObject) fix(v view) string {
	in := ""
	if d.namespace != "" {
		in = " -n " + d.namespace
	}
	get := fmt.Sprintf("kubectl%s get %s %s -o yaml", in, strings.ToLower(d.kind), d.name)
	switch {
	case len(d.finalizers) > 0:
		return fmt.Sprintf("%s; repair the controller of the finalizer; only if that controller was removed: kubectl%s patch %s %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'",
			get, in, strings.ToLower(d.kind), d.name)
	case d.kind == "Namespace":
		return get + "; kubectl get apiservices; kubectl -n " + d.name + " get all"
	case d.silentNode(v) != "":
		return "bring node " + d.node + " back; if it will not come back: airgap remove " + d.node
	case d.node != "":
		return "on " + d.node + ": journalctl -u kubelet --since -15min | grep " + d.name + "; crictl pods --name " + d.name
	default:
		return get
	}
}

// judgeOrphans finds pods of nodes that do not exist. Their status does not change, and the pod
// garbage collector deletes them within a minute if it works. It reads all pods every ten
// seconds: an index by node would cost more memory than that is worth.
func judgeOrphans(v view, judged func(namespace string) bool) []Finding {
	exists := map[string]bool{"": true}
	for _, node := range v.allNodes() {
		exists[node.Name] = true
	}
	if len(exists) == 1 {
		return nil // nodes are not readable, or nodes-ready reports that none exist
	}
	var findings []Finding
	for p := range each[*keptPod](v, pods) {
		if !exists[p.node] && !p.deleting && judged(p.namespace) {
			findings = append(findings, Finding{
				Object: p.title("Pod"), Saw: "its node " + p.node + " does not exist", Want: "deleted with its node",
				Fix: fmt.Sprintf("kubectl -n %s delete pod %s --force; airgap verify --only leaders", p.namespace, p.name),
			})
		}
	}
	return findings
}
