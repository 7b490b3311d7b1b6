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

func etcdWhole() rule {
	return rule{
		id: "etcd", title: "etcd has all its members, one leader, room and a backup", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge: judgeEtcd, expects: expectEtcd,
	}
}

// backupAge is twice what lies between two backups.
const backupAge = 48 * time.Hour

// nearlyFull is the share of its quota at which etcd should be looked at: at
// all of it, it takes no more writes.
const nearlyFull = 0.8

const peersReached = "do all control-plane hosts run, and reach each other? On each: timeout 3 bash -c '</dev/tcp/OTHER/2380' && echo open"

func judgeEtcd(v view) []Finding {
	var findings []Finding
	members := map[string]*nodereport.Etcd{} // that answer, by host
	for _, r := range v.reportsWith(etcdPart()) {
		e := r.report.Etcd
		if e.Answers() {
			members[r.name] = e
		}
		findings = append(findings, memberTrouble(v.now, r.name, e)...)
	}
	return append(findings, membership(v, members)...)
}

func etcdPart() part { return part{"etcd", func(r nodereport.Report) bool { return r.Etcd != nil }} }

// expectEtcd expects a member on each host of the control plane, unless none of them has
// one: etcd is elsewhere then, and others look after it.
func expectEtcd(v view) expectation {
	if len(v.allNodes()) > 0 && !slices.ContainsFunc(v.allNodes(), ofControlPlane) {
		return expectation{nothing: "no node is of the control plane: whoever runs that looks after etcd"}
	}
	if e := v.expectPartOf(ofControlPlane, part{name: "etcd"}); e != (expectation{}) || len(v.reportsWith(etcdPart())) > 0 {
		return v.expectPartOf(ofControlPlane, etcdPart())
	}
	return expectation{nothing: "no host of the control plane has a member of etcd: it runs elsewhere"}
}

// memberTrouble is what is wrong with one member by itself. One with an alarm or
// without a leader calls itself not healthy, too: the reason says more.
func memberTrouble(now time.Time, host string, e *nodereport.Etcd) []Finding {
	var findings []Finding
	add := func(saw, want, fix string) {
		findings = append(findings, Finding{Object: "etcd on " + host, Saw: saw, Want: want, Fix: fix})
	}
	sick := func() { add(e.Error, "healthy", "on "+host+": crictl ps -a --name etcd; crictl logs of it; its disk") }
	if !e.Answers() {
		sick()
		return findings
	}
	if !e.HasLeader {
		add("it knows of no leader", "one", peersReached)
	}
	for _, alarm := range e.Alarms {
		add("alarm "+alarm, "none", "find out what is stored so often and delete it; NOSPACE: compact, defrag on each host, then alarm disarm, by etcdctl, which is in the pod: airgap docs etcd has its line")
	}
	if e.Error != "" && len(findings) == 0 {
		sick()
	}
	if e.Quota > 0 && float64(e.Bytes) > nearlyFull*float64(e.Quota) {
		add(fmt.Sprintf("its database is %s of %s", ui.Size(e.Bytes), ui.Size(e.Quota)), "below 80 % of its quota", "what is stored so often? Then defragment it, one host after the other: airgap docs etcd has the line")
	}
	if saw := backupTrouble(now, e.Snapshot); saw != "" {
		add(saw, "one of the last two days", "on "+host+": airgap backup; systemctl status airgap-backup.timer; journalctl -u airgap-backup")
	}
	return findings
}

func backupTrouble(now time.Time, taken *metav1.Time) string {
	switch {
	case taken == nil:
		return "there is no backup of it on this host"
	case now.Sub(taken.Time) > backupAge:
		return "the newest backup is of " + taken.UTC().Format(time.RFC3339)
	}
	return ""
}

// membership compares who belongs to etcd with which hosts have a member.
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
		findings = append(findings, Finding{Object: "etcd", Saw: strings.Join(leads, " and ") + " say to lead", Want: "one leader", Fix: peersReached})
	}
	for name := range known {
		if v.node(name) == nil {
			findings = append(findings, Finding{
				Object: "etcd", Saw: "it has the member " + name + ", and there is no such node", Want: "a host for each member",
				Fix: "it counts for the quorum: airgap remove " + name + " --force, on a control-plane host",
			})
		}
	}
	for at := range unstarted {
		findings = append(findings, Finding{
			Object: "etcd", Saw: "its member at " + at + " has never started", Want: "members that run",
			Fix: "that host's join is under way, or was interrupted: run it again there; it will never join? airgap remove NODE on a control-plane host, with its name in airgap.yaml",
		})
	}
	for host := range members {
		if !known[host] {
			findings = append(findings, Finding{Object: "etcd on " + host, Saw: "it is no member", Want: "a member on each control-plane host", Fix: "on " + host + ": airgap status"})
		}
	}
	return findings
}
