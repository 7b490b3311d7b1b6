package preflight

import (
	"context"
	"slices"
	"time"
)

// Between are results of what only several hosts together can tell, by the ID of the
// check.
type Between map[string]Result

// IDs of the checks between hosts.
const (
	PortsReach   = "ports-reach"
	Encapsulate  = "encapsulation"
	VXLANPath    = "vxlan-datapath"
	PathMTU      = "mtu"
	IPIP         = "ipip-proto4"
	LoadBalancer = "lb-vip"
	BalancerIdle = "lb-idle"
	Clocks       = "clock-skew"
	Twins        = "machine-twins"
	Measured     = "measured"
)

// betweenChecks are judged by who has measured: `airgap preflight --all-hosts`, or airgap
// netprobe.
func betweenChecks() []Check {
	return []Check{
		between(Measured, "Every host has been measured", "airgap: preflight/netprobe", "Of hosts that gave no report nobody knows what reaches them."),
		between(PortsReach, "Hosts reach each other's ports", "Kubernetes: ports and protocols", "Nodes do not join, etcd finds no majority, or logs and metrics stay away."),
		between(VXLANPath, "A real VXLAN passes between hosts", "k3s#5013, felix#2811, calico#9433", "Pods reach each other on their own node, and no other."),
		between(PathMTU, "Paths carry what interfaces send", "airgap: packets that may not be cut, of each size", "Small requests are answered and large ones hang: TLS, images, logs."),
		between(IPIP, "IP in IP (protocol 4)", "airgap: raw and packet sockets on both ends; Calico's default", "A pod network with IP in IP would lose every packet. airgap never uses it."),
		between(Encapsulate, "How pods' packets travel", "airgap: chosen from what was measured", "The pod network comes up and carries nothing."),
		between(LoadBalancer, "Load balancer before the control plane", "kubeadm: high availability", "The API answers some and not others, or nobody once the first host is down."),
		balancerIdle(),
		between(Clocks, "Hosts agree on the time", "etcd, and certificates of the first minutes", "Certificates are not valid yet on hosts that are behind, and etcd warns all day."),
		between(Twins, "No two hosts are the same machine", "Kubernetes documentation: unique product_uuid, MAC address and machine-id", "Clones take each other's leases, addresses and places in the cluster."),
	}
}

// idleWatch is the only one of the limits that lengthens the measurement.
func idleWatch() Limit {
	return Limit{Check: BalancerIdle, Name: "watch", Unit: Elapsed, Default: always(int64(time.Minute)),
		About: "How long nothing is said on a connection through the balancer, to see whether it is kept. Five minutes are wanted, which \"5m\" measures in as long a time; 0s leaves it out. At most 30m. Default 1m."}
}

// IdleWatch is how long the site wants nothing to be said through the balancer, at most
// half an hour.
func IdleWatch(site Config) time.Duration {
	return min(time.Duration((&Want{Site: site}).limit(idleWatch())), 30*time.Minute)
}

func balancerIdle() Check {
	c := between(BalancerIdle, "The balancer keeps connections on which nothing is said", "kubectl exec, logs and port-forward; HTTP/2 pings of Kubernetes' clients every 30 s",
		"Sessions of kubectl break while nobody types; below half a minute every watch begins anew, again and again.")
	c.Limits = []Limit{idleWatch()}
	return c
}

func between(id, title, source, breaks string) Check {
	return Check{ID: id, Title: title, Source: source, Breaks: breaks, Across: true, Run: func(_ *Facts, w *Want) Result {
		if r, measured := w.Between[id]; measured {
			return r
		}
		return skipped("measured between hosts: airgap preflight DIR --all-hosts, or airgap netprobe listen DIR")
	}}
}

// BetweenHosts is the name under which a report of several hosts together stands.
const BetweenHosts = "between the hosts"

// RunBetween reports what was measured between hosts, with the site's settings.
func RunBetween(ctx context.Context, measured Between, site Config, taken time.Time, choice Choice) (Report, error) {
	only := []string{} // not nil, which would be all checks of a host
	for _, c := range betweenChecks() {
		if choice.Only == nil || slices.Contains(choice.Only, c.ID) {
			only = append(only, c.ID)
		}
	}
	f := &Facts{Host: BetweenHosts, Time: Time{Now: taken}}
	return Run(ctx, f, Want{Between: measured, Site: site}, Choice{Only: only, Skip: choice.Skip})
}
