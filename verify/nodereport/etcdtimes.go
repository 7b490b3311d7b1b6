package nodereport

import (
	"fmt"
	"maps"
	"slices"
)

func (t EtcdTimes) String() string {
	return fmt.Sprintf("heartbeat interval %d ms, election timeout %d ms", t.Heartbeat, t.Election)
}

// OtherTimes is a member of etcd with other times than airgap set, or than most members have.
type OtherTimes struct{ Host, Saw, Want, Fix string }

// OtherTimesOf compares the times of members, by host. etcd runs with different times, but a member with
// shorter ones starts elections that no member needs, and one with longer ones notices a failure late.
func OtherTimesOf(members map[string]*Etcd) []OtherTimes {
	hosts := slices.Sorted(maps.Keys(members))
	if changing(members) {
		return nil
	}
	counts := map[EtcdTimes]int{}
	for _, host := range hosts {
		if t := members[host].target(); t != nil {
			counts[*t]++
		}
	}
	var most EtcdTimes
	like := "" // the first host with them
	for _, host := range hosts {
		if t := members[host].target(); t != nil && counts[*t] > counts[most] {
			most, like = *t, host
		}
	}
	var found []OtherTimes
	for _, host := range hosts {
		e, want, of := members[host], most, ", as on "+like
		if e.Wanted != nil && e.Times != nil && *e.Times != *e.Wanted {
			want, of = *e.Wanted, ", as airgap set"
		}
		if e.Times == nil || *e.Times == want {
			continue
		}
		found = append(found, OtherTimes{
			Host: host, Saw: e.Times.String(), Want: want.String() + of,
			Fix: fmt.Sprintf("on %s: in /etc/kubernetes/manifests/etcd.yaml set --heartbeat-interval=%d and --election-timeout=%d, or remove both for 100 and 1000; the kubelet restarts etcd. "+
				"For other times on all hosts: kubernetes.etcd in airgap.yaml, then airgap upgrade", host, want.Heartbeat, want.Election),
		})
	}
	return found
}

// changing reports whether airgap has set new times on some members and not yet on all, as in an upgrade: members have
// the times that airgap set there, and airgap set different ones, or one has not restarted etcd with the newest yet.
func changing(members map[string]*Etcd) bool {
	wanted := map[EtcdTimes]bool{}
	for _, e := range members {
		if e.Wanted == nil {
			return false
		}
		wanted[*e.Wanted] = true
	}
	for _, e := range members {
		if e.Times != nil && !wanted[*e.Times] {
			return false
		}
	}
	return len(wanted) > 1
}

// target are the times that the member should have.
func (e *Etcd) target() *EtcdTimes {
	if e.Wanted != nil {
		return e.Wanted
	}
	return e.Times
}
