package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/internal/ui"
)

func etcdWhole() rule {
	return rule{
		id: "etcd", title: "etcd has all its members, one leader, room and a backup", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge: judgeEtcd,
	}
}

// backupAge is twice what lies between two backups.
const backupAge = 48 * time.Hour

// nearlyFull is the share of its quota at which etcd should be looked at: at
// all of it, it takes no more writes.
const nearlyFull = 0.8

func judgeEtcd(v view) []Finding {
	var findings []Finding
	members := map[string][]string{} // names of all, by who says so
	leads := []string{}
	for _, r := range all[*keptReport](v, nodeReports) {
		e := r.report.Etcd
		if e == nil {
			continue
		}
		add := func(saw, want, fix string) {
			findings = append(findings, Finding{Object: "etcd on " + r.name, Saw: saw, Want: want, Fix: fix})
		}
		if e.Error != "" {
			add(e.Error, "healthy", "on "+r.name+": crictl ps -a --name etcd; crictl logs of it; its disk")
			continue
		}
		members[r.name] = e.Members
		if e.Leads {
			leads = append(leads, r.name)
		}
		if !e.HasLeader {
			add("it knows of no leader", "one", "do the control-plane hosts reach each other on port 2380? airgap preflight --all-hosts")
		}
		for _, alarm := range e.Alarms {
			add("alarm "+alarm, "none", "etcdctl alarm list; NOSPACE: compact and defragment, then etcdctl alarm disarm")
		}
		if e.Quota > 0 && float64(e.Bytes) > nearlyFull*float64(e.Quota) {
			add(fmt.Sprintf("its database is %s of %s", ui.Size(e.Bytes), ui.Size(e.Quota)), "below 80 % of its quota", "what is stored so often? compact and defragment it")
		}
		if saw := backupTrouble(v.now, e.Snapshot); saw != "" {
			add(saw, "one of the last two days", "on "+r.name+": airgap backup; systemctl status airgap-backup.timer; journalctl -u airgap-backup")
		}
	}
	return append(findings, membership(v, members, leads)...)
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
func membership(v view, members map[string][]string, leads []string) []Finding {
	if len(members) == 0 {
		return nil // etcd is outside of the cluster, or node-reports says more
	}
	var findings []Finding
	if len(leads) > 1 {
		slices.Sort(leads)
		findings = append(findings, Finding{Object: "etcd", Saw: strings.Join(leads, " and ") + " say to lead", Want: "one leader", Fix: "do the control-plane hosts reach each other on port 2380?"})
	}
	known := map[string]bool{}
	for _, names := range members {
		for _, name := range names {
			known[name] = true
		}
	}
	for name := range known {
		if v.node(name) == nil {
			findings = append(findings, Finding{
				Object: "etcd", Saw: "it has the member " + name + ", and there is no such node", Want: "a host for each member",
				Fix: "it counts for the quorum: airgap remove " + name + " --force, on a control-plane host",
			})
		}
	}
	for host := range members {
		if !known[host] {
			findings = append(findings, Finding{Object: "etcd on " + host, Saw: "it is no member", Want: "a member on each control-plane host", Fix: "on " + host + ": airgap status"})
		}
	}
	return findings
}
