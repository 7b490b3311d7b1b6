package verify

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const sinceID = "since"

// nothingSince asks also for what went wrong since a time, though it is well
// now. It judges what objects still show: a pod that was deleted tells nothing.
//
// Objects show it by the clocks of hosts, which the renewals of leases correct.
func nothingSince(since time.Time) rule {
	return rule{
		id: sinceID, title: "Nothing went wrong since the time that was asked for", watches: []kind{nodes, pods, leases}, every: time.Second, stays: true,
		judge: func(v view) []Finding {
			var findings []Finding
			for _, i := range v.incidents(since) {
				findings = append(findings, Finding{Object: i.object, Saw: i.saw, Want: "nothing since " + since.UTC().Format(time.DateTime) + " UTC", Since: i.at, Fix: i.fix})
			}
			return findings
		},
		expects: expectSince,
	}
}

// expectSince expects to know the clock of each host by which something is dated.
func expectSince(v view) expectation {
	return v.each(func(n *corev1.Node) lack {
		if l := undated(v, leaseOf(n.Name)); l != (lack{}) {
			return l
		}
		if _, known := v.ours(datedBy(n), time.Time{}); !known {
			return lack{"too soon to tell: no renewal of the lease of kube-controller-manager was heard yet, by whose clock the node turned silent", longer}
		}
		return lack{}
	})
}

// undated says that the clock of a host is not known, whose kubelet renews this lease.
func undated(v view, lease beat) lack {
	if _, known := v.heard.last(lease); known {
		return lack{}
	}
	return lack{"too soon to tell: no renewal of the lease was heard yet, so the host's clock is not known", longer + "; on HOST: journalctl -u kubelet"}
}

// datedBy is whose clock says since when a node is Ready, or not: the kubelet's, or, of
// a silent one, that of the controller manager.
func datedBy(n *corev1.Node) beat {
	if c, found := readyOf(n); found && c.Status == corev1.ConditionUnknown {
		return leaderOf("kube-controller-manager")
	}
	return leaseOf(n.Name)
}

// incident is something that happened to an object.
type incident struct {
	object string
	at     time.Time // by this computer's clock, as far as that of its host is known
	saw    string
	fix    string
}

// incidents are what is still to be seen of what went wrong after since.
func (v view) incidents(since time.Time) []incident {
	var list []incident
	ahead := v.serversAhead()
	for _, node := range v.allNodes() {
		c, found := readyOf(node)
		at, _ := v.ours(datedBy(node), c.LastTransitionTime.Time)
		if found && at.After(since) && node.CreationTimestamp.Add(-ahead).Before(since) {
			list = append(list, incident{"Node " + node.Name, at, "its Ready turned " + string(c.Status) + ": " + because(c.Reason, c.Message),
				fmt.Sprintf("on %s: journalctl -u kubelet --since '%s'", node.Name, c.LastTransitionTime.UTC().Add(-time.Minute).Format("2006-01-02 15:04:05 UTC"))})
		}
	}
	for _, p := range all[*keptPod](v, pods) {
		list = append(list, v.incidentsOf(p, since)...)
	}
	return list
}

// serversAhead is by how much an API server's clock may be ahead: that of the control-plane
// host whose is most. By it objects are dated when they are made.
func (v view) serversAhead() time.Duration {
	var most time.Duration
	for _, node := range v.allNodes() {
		if h, _ := v.heard.last(leaseOf(node.Name)); ofControlPlane(node) {
			most = max(most, h.ahead)
		}
	}
	return most
}

func (v view) incidentsOf(p *keptPod, since time.Time) []incident {
	ours := func(t time.Time) (time.Time, bool) {
		at, _ := v.ours(leaseOf(p.node), t)
		return at, at.After(since)
	}
	if r := p.rare; r != nil && r.fell != "" {
		if at, is := ours(r.over); is {
			return []incident{{p.title("Pod"), at, r.fell, p.look()}}
		}
		return nil
	}
	var list []incident
	for _, c := range p.containers {
		if c.ended == nil {
			continue
		}
		if at, is := ours(c.ended.at); is {
			name := c.of.Value().name
			list = append(list, incident{p.title("Pod"), at, "container " + name + ": " + c.ended.how,
				fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", p.namespace, p.name, name)})
		}
	}
	return list
}

// look is where to see why a pod as a whole failed.
func (p *keptPod) look() string {
	if p.node == "" {
		return fmt.Sprintf("kubectl -n %s describe pod %s", p.namespace, p.name)
	}
	return "kubectl describe node " + p.node
}
