package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/nodereport"
)

func etcdHealthy() rule {
	return rule{
		id: "etcd", title: "etcd has all members, one leader, free space and a recent backup", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge: judgeEtcd, expects: expectEtcd,
	}
}

// backupAge is twice the time between two backups.
const backupAge = 48 * time.Hour

// nearlyFull is the share of the quota at which etcd needs attention. At its full quota, etcd
// accepts no writes.
const nearlyFull = 0.8

const peersReached = "check that all control-plane hosts run and reach each other; on each: timeout 3 bash -c '</dev/tcp/OTHER/2380' && echo open"

func judgeEtcd(v view) []Finding {
	var findings []Finding
	members := map[string]*nodereport.Etcd{} // members that answer, by host
	for _, r := range v.reportsWith(etcdPart()) {
		e := r.report.Etcd
		if e.HasMembers() {
			members[r.name] = e
		}
		findings = append(findings, memberTrouble(v, r.name, e)...)
	}
	return append(findings, membership(v, members)...)
}

func etcdPart() part {
	return part{name: "etcd", in: func(r nodereport.Report) bool { return r.Etcd != nil }}
}

// expectEtcd expects a member on each control-plane host, unless no host has one: then etcd is
// external.
func expectEtcd(v view) expectation {
	if len(v.allNodes()) > 0 && !slices.ContainsFunc(v.allNodes(), ofControlPlane) {
		return expectation{nothing: "no node has the control-plane label: etcd is managed outside of this cluster"}
	}
	if e := v.expectPartOf(ofControlPlane, part{name: "etcd"}); e != (expectation{}) || len(v.reportsWith(etcdPart())) > 0 {
		return v.expectPartOf(ofControlPlane, etcdPart())
	}
	return expectation{nothing: "no control-plane host runs an etcd member: etcd is external"}
}

// memberTrouble returns the findings about one member. A member with an alarm or without a
// leader also reports itself as not healthy; the finding about the cause replaces that report.
func memberTrouble(v view, host string, e *nodereport.Etcd) []Finding {
	var findings []Finding
	add := func(saw, want, fix string) {
		findings = append(findings, Finding{Object: "etcd on " + host, Saw: saw, Want: want, Fix: fix})
	}
	unhealthy := func() {
		add(e.Error, "healthy", "on "+host+": crictl ps -a --name etcd; crictl logs CONTAINER; check its disk")
	}
	if !e.HasMembers() {
		unhealthy()
		return findings
	}
	if !e.HasLeader {
		add("it knows no leader", "one leader", peersReached)
	}
	for _, alarm := range e.Alarms {
		add("alarm "+alarm, "no alarm", "find the objects that fill etcd and delete them; for NOSPACE, run etcdctl in its pod: compact, defrag on each host, then alarm disarm (commands: airgap docs etcd)")
	}
	if e.Error != "" && len(findings) == 0 {
		unhealthy()
	}
	if e.Quota > 0 && float64(e.Bytes) > nearlyFull*float64(e.Quota) {
		add(fmt.Sprintf("its database is %s of %s", ui.Size(e.Bytes), ui.Size(e.Quota)), "below 80 % of its quota",
			"find the objects that fill it and delete them; then defragment it, one host after the other (command: airgap docs etcd)")
	}
	if saw := backupTrouble(v, e.Snapshot); saw != "" {
		add(saw, "a backup from the last two days", "on "+host+": airgap backup; systemctl status airgap-backup.timer; journalctl -u airgap-backup")
	}
	return findings
}

// backupTrouble judges the age up to the time that the reports show. Right after a gap that time may be
// before a backup that the cache already has.
func backupTrouble(v view, taken *metav1.Time) string {
	switch {
	case taken == nil:
		return "this host has no backup of etcd"
	case v.seenUntil(nodeReports).Sub(taken.Time) > backupAge:
		return "the newest backup is from " + taken.UTC().Format(time.RFC3339)
	case taken.Sub(v.now) > maxClockOffset:
		return "the newest backup is from the future, " + taken.UTC().Format(time.RFC3339) + ": the clock was ahead when it was taken, or is behind now"
	}
	return ""
}

// membership compares the members of etcd with the hosts that run one.
func membership(v view, members map[string]*nodereport.Etcd) []Finding {
	var findings []Finding
	var leads []string
	known, unstarted := map[string]bool{}, map[string]bool{}
	for host, e := range members {
		if e.Leads {
			leads = append(leads, host)
		}
		for _, name := range e.Members {
			known[name] = true
		}
		for _, at := range e.Unstarted {
			unstarted[at] = true
		}
	}
	if len(leads) > 1 {
		slices.Sort(leads)
		findings = append(findings, Finding{Object: "etcd", Saw: strings.Join(leads, " and ") + " both report that they are the leader", Want: "one leader", Fix: peersReached})
	}
	for _, o := range nodereport.OtherTimesOf(members) {
		findings = append(findings, Finding{Object: "etcd on " + o.Host, Saw: o.Saw, Want: o.Want, Fix: o.Fix})
	}
	for name := range known {
		if v.node(name) == nil {
			findings = append(findings, Finding{
				Object: "etcd", Saw: "it has the member " + name + ", but no such node exists", Want: "a host for each member",
				Fix: "the member counts for the quorum; on a control-plane host: airgap remove " + name + " --force",
			})
		}
	}
	for at := range unstarted {
		findings = append(findings, Finding{
			Object: "etcd", Saw: "its member at " + at + " has never started", Want: "all members run",
			Fix: "the join of that host is in progress or was interrupted: run it again there; if the host will not join, on a control-plane host: airgap remove NODE (its name in airgap.yaml)",
		})
	}
	for host := range members {
		if !known[host] {
			findings = append(findings, Finding{Object: "etcd on " + host, Saw: "it is not a member", Want: "a member on each control-plane host", Fix: "on " + host + ": airgap status"})
		}
	}
	return findings
}
