package hostcheck

import (
	"fmt"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// SettleEtcd returns the site with the times of etcd that the measured round trips require. It returns s if its times
// are long enough, if airgap.yaml sets them, or if the installation of this host has begun: the members of a cluster
// get new times only from an upgrade.
func SettleEtcd(s *site.Site, m *netprobe.Matrix) (*site.Site, error) {
	longest := longestTrip(m)
	if longest*kubeadm.BeatsOfElection <= s.Config.Kubernetes.ElectionTimeout() {
		return s, nil
	}
	began, _, err := begunHere()
	if err != nil || began {
		return s, err
	}
	return s.Choosing(&site.NetworkChoice{Etcd: kubeadm.EtcdTimesFor(longest)}), nil
}

func timesText(timed *site.Site) string {
	t := timed.Config.Kubernetes.Etcd
	return fmt.Sprintf("airgap install sets etcd's heartbeat interval to %s and its election timeout to %s, on all control-plane hosts", t.HeartbeatInterval, t.ElectionTimeout)
}

// withTimes adds to the result of the check etcd-latency which times the installation sets. If airgap.yaml or the
// cluster has others, the remedy names the fields of airgap.yaml.
func withTimes(r preflight.Result, s, timed *site.Site, m *netprobe.Matrix) preflight.Result {
	longest := longestTrip(m)
	switch t := kubeadm.EtcdTimesFor(longest); {
	case timed != s:
		r.Found += "\n" + timesText(timed)
	case r.Status != preflight.Fail || s.Config.Kubernetes.OverridesEtcdTimes():
	case t == kubeadm.EtcdTimes{}:
		r.Fix = "put the control-plane hosts into one site: etcd has no times for this round trip"
	default:
		r.Fix = fmt.Sprintf("put the control-plane hosts into one site; or set kubernetes.etcd.heartbeatInterval: %s and electionTimeout: %s in airgap.yaml, and build the bundle again", t.HeartbeatInterval, t.ElectionTimeout)
	}
	return r
}
