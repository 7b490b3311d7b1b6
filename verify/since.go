package verify

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodestate"
)

const sinceID = "since"

// nothingSince also reports past failures since a time, even if the cluster is healthy now. It
// uses only objects that still exist, so it does not see deleted pods. Hosts date these failures,
// and the renewals of Leases correct their clocks.
func nothingSince(since time.Time) rule {
	return rule{
		id: sinceID, title: "Nothing has failed since the given time", watches: []kind{nodes, pods, leases}, every: time.Second, stays: true,
		judge: func(v view) []Finding {
			var findings []Finding
			for _, i := range v.incidents(since) {
				findings = append(findings, Finding{Object: i.object, Saw: i.saw, Want: "no failure since " + since.UTC().Format(time.DateTime) + " UTC", Since: i.at, Fix: i.fix})
			}
			return findings
		},
		expects: expectSince,
	}
}

// expectSince expects a known clock for each host that dates something.
func expectSince(v view) expectation {
	return v.each(func(n *corev1.Node) absence {
		if l := undated(v, leaseOf(n.Name)); l != (absence{}) {
			return l
		}
		if _, known := v.localTime(datedBy(n), time.Time{}); !known {
			return absence{"too soon to tell: no lease renewal of kube-controller-manager was received yet, and its clock dates the change of the node", longer}
		}
		return absence{}
	})
}

// undated reports that the clock of a host is not known, by the Lease of its kubelet.
func undated(v view, lease heartbeat) absence {
	if _, known := v.heartbeats.last(lease); known {
		return absence{}
	}
	return absence{"too soon to tell: no lease renewal was received yet, so the host's clock is not known", longer + "; on HOST: journalctl -u kubelet"}
}

// datedBy returns the Lease of the component that dates the Ready condition: the kubelet, or
// kube-controller-manager if the kubelet is silent.
func datedBy(n *corev1.Node) heartbeat {
	if c, found := nodestate.Ready(n); found && c.Status == corev1.ConditionUnknown {
		return leaderOf("kube-controller-manager")
	}
	return leaseOf(n.Name)
}

// incident is a past failure of an object.
type incident struct {
	object string
	at     time.Time // by this computer's clock, if the clock of the host is known
	saw    string
	fix    string
}

// incidents returns the failures after since that objects still show.
func (v view) incidents(since time.Time) []incident {
	var list []incident
	_, ahead := v.serversAhead()
	for _, node := range v.allNodes() {
		c, found := nodestate.Ready(node)
		at, _ := v.localTime(datedBy(node), c.LastTransitionTime.Time)
		if found && at.After(since) && node.CreationTimestamp.Add(-ahead).Before(since) {
			list = append(list, incident{"Node " + node.Name, at, "its Ready condition changed to " + string(c.Status) + ": " + nodestate.Because(c.Reason, c.Message),
				fmt.Sprintf("on %s: journalctl -u kubelet --since '%s'", node.Name, c.LastTransitionTime.UTC().Add(-time.Minute).Format("2006-01-02 15:04:05 UTC"))})
		}
	}
	for _, p := range all[*keptPod](v, pods) {
		list = append(list, v.incidentsOf(p, since)...)
	}
	return list
}

// serversAhead returns the smallest offset of the clocks of the control-plane hosts with a
// heartbeat, and the largest one, which is not negative. API servers date the creation and the
// deletion of objects.
func (v view) serversAhead() (least, most time.Duration) {
	received := false
	for _, node := range v.allNodes() {
		h, known := v.heartbeats.last(leaseOf(node.Name))
		if !known || !ofControlPlane(node) {
			continue
		}
		if !received || h.ahead < least {
			least = h.ahead
		}
		most, received = max(most, h.ahead), true
	}
	return least, most
}

func (v view) incidentsOf(p *keptPod, since time.Time) []incident {
	localTime := func(t time.Time) (time.Time, bool) {
		at, _ := v.localTime(leaseOf(p.node), t)
		return at, at.After(since)
	}
	if r := p.rare; r != nil && r.podFailure != "" {
		if at, is := localTime(r.over); is {
			return []incident{{p.title("Pod"), at, r.podFailure, p.look()}}
		}
		return nil
	}
	var list []incident
	for _, c := range p.containers {
		if c.ended == nil {
			continue
		}
		if at, is := localTime(c.ended.at); is {
			name := c.of.Value().name
			list = append(list, incident{p.title("Pod"), at, "container " + name + ": " + c.ended.how,
				fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", p.namespace, p.name, name)})
		}
	}
	return list
}

// look returns where to find the cause of a pod's failure.
func (p *keptPod) look() string {
	if p.node == "" {
		return fmt.Sprintf("kubectl -n %s describe pod %s", p.namespace, p.name)
	}
	return "kubectl describe node " + p.node
}
