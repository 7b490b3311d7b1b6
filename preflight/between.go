package preflight

import (
	"context"
	"time"

	"airgap.dev/airgap/preflight/facts"
)

// CrossHost has the results of the measurement between hosts, by check ID.
type CrossHost map[string]Result

// IDs of the checks of the network between hosts.
const (
	PortsReach       = "ports-reach"
	Encapsulation    = "encapsulation"
	VXLANPath        = "vxlan-datapath"
	PathMTU          = "mtu"
	IPIP             = "ipip-proto4"
	LoadBalancer     = "lb-vip"
	LoadBalancerIdle = "lb-idle"
	ClockSkew        = "clock-skew"
	Duplicates       = "duplicate-hosts"
	Measured         = "measured"
	PathQuality      = "path-quality"
	EtcdLatency      = "etcd-latency"
)

// crossHostChecks need a measurement by `airgap preflight --all-hosts` or `airgap netprobe`.
func crossHostChecks() []Check {
	return []Check{
		crossHost(Measured, "Every host is measured", "airgap: preflight/netprobe", "The connections of hosts without a report are unknown."),
		crossHost(PortsReach, "Hosts reach each other's ports", "Kubernetes: ports and protocols", "Nodes do not join, etcd has no quorum, or logs and metrics are missing."),
		crossHost(VXLANPath, "VXLAN works between hosts", "k3s#5013, felix#2811, calico#9433", "Pods reach only the pods on their own node."),
		crossHost(PathMTU, "Paths carry full-size packets", "airgap: unfragmented packets of each size", "Small requests succeed and large ones hang: TLS, images, logs."),
		crossHost(PathQuality, "Paths lose no packets", "etcd and TCP with losses; airgap: 16 flows for each protocol, trains of packets, a stream", "Some requests hang, others never do; pods lose connections under load."),
		crossHost(EtcdLatency, "Members of etcd are close to each other", "etcd: tuning guide", "Each change in the cluster waits; above a tenth of the election timeout, etcd changes its leader repeatedly."),
		crossHost(IPIP, "IP in IP (protocol 4) works between hosts", "airgap: raw and packet sockets on both ends; Calico's default", "A pod network with IP in IP would lose every packet. airgap never uses it."),
		crossHost(Encapsulation, "The pod network can carry packets between hosts", "airgap: chosen from the measurement", "The pod network starts, but carries no packets."),
		crossHost(LoadBalancer, "Load balancer reaches every control-plane host", "kubeadm: high availability", "The API server answers only some requests, or none once the first host is down."),
		loadBalancerIdle(),
		crossHost(ClockSkew, "Clocks of all hosts agree", "etcd, and certificates in their first minutes", "Certificates are not valid yet on hosts with a slow clock, and etcd logs warnings all day."),
		duplicates(),
	}
}

// duplicates compares the identities of the hosts.
func duplicates() Check {
	c := crossHost(Duplicates, "Every host is a different machine", "Kubernetes documentation: unique product_uuid, MAC address and machine-id", "Clones take over each other's DHCP leases, addresses and cluster membership.")
	c.Former = "machine-twins"
	return c
}

// idleWatch is the only limit that makes the measurement longer.
func idleWatch() Limit {
	return Limit{Check: LoadBalancerIdle, Name: "watch", Unit: Elapsed, Default: always(int64(time.Minute)),
		About: "How long a test connection through the load balancer stays idle, to see whether the load balancer keeps it. The recommendation is to keep idle connections for five minutes; \"5m\" tests that, and takes five minutes. 0s skips the test. At most 30m. Default 1m."}
}

// IdleWatch is how long the test connection through the load balancer stays idle, at most 30 minutes.
func IdleWatch(site Config) time.Duration {
	return min(time.Duration((&Want{Site: site}).limit(idleWatch())), 30*time.Minute)
}

func loadBalancerIdle() Check {
	c := crossHost(LoadBalancerIdle, "Load balancer keeps idle connections", "kubectl exec, logs and port-forward; HTTP/2 pings of Kubernetes clients every 30 s",
		"Idle kubectl sessions break. With a timeout below half a minute, every watch restarts periodically.")
	c.Limits = []Limit{idleWatch()}
	return c
}

func crossHost(id, title, source, breaks string) Check {
	return Check{ID: id, Title: title, Source: source, Breaks: breaks, CrossHost: true, Run: func(_ *facts.Facts, w *Want) Result {
		if r, measured := w.CrossHost[id]; measured {
			return r
		}
		return skipped("needs a measurement between hosts: airgap preflight DIR --all-hosts, or airgap netprobe listen DIR")
	}}
}

// BetweenHosts takes the place of a host name in the report of the measurement.
const BetweenHosts = "between the hosts"

// RunCrossHost reports the results of the measurement between hosts, with the site's settings.
func RunCrossHost(ctx context.Context, measured CrossHost, site Config, taken time.Time, choice Choice) (Report, error) {
	only := []string{} // nil would select all checks of a host
	for _, c := range crossHostChecks() {
		if choice.Only == nil || c.in(choice.Only) {
			only = append(only, c.ID)
		}
	}
	f := &facts.Facts{Host: BetweenHosts, Time: facts.Time{Now: taken}}
	return Run(ctx, f, Want{CrossHost: measured, Site: site}, Choice{Only: only, Skip: choice.Skip})
}
