package preflight

import (
	"fmt"
	"math"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// Kubernetes' defaults: the controller manager's --node-cidr-mask-size-ipv4 and -ipv6,
// and the kubelet's maxPods.
const (
	nodeMask4 = 24
	nodeMask6 = 64
	maxPods   = 110
)

var cidrSize = Check{
	ID: "cidr-size", Title: "Pod subnet is large enough", Source: "kubespray; kube-controller-manager --node-cidr-mask-size",
	Breaks: "The last nodes get no address range, and their pods do not start.",
	Run:    judgeSize,
}

func judgeSize(_ *facts.Facts, w *Want) Result {
	pods, err := parseSubnets("pod", w.PodSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	if len(pods) == 0 {
		return skipped("no subnet configured")
	}
	var found []string
	for _, s := range pods {
		mask, each := nodeMask4, int64(math.MaxInt64)
		if s.prefix.Addr().Is6() {
			mask = nodeMask6
		} else {
			each = 1<<(32-mask) - 2
		}
		if nodes := ranges(mask - s.prefix.Bits()); nodes < int64(w.Nodes) || each < maxPods {
			return Result{Fail, fmt.Sprintf("%s has room for %d nodes, and the cluster has %d", s.prefix, nodes, w.Nodes),
				fmt.Sprintf("a range of /%d for each node", mask), fmt.Sprintf("set a larger kubernetes.podSubnet, such as a /%d", mask-bitsFor(w.Nodes))}
		} else if nodes < math.MaxInt32 {
			found = append(found, fmt.Sprintf("%s has room for %d nodes", s.prefix, nodes))
		}
	}
	return pass("%s", strings.Join(found, ", "))
}

// ranges is the number of ranges that a number of bits can address; 0 if it is negative.
func ranges(bits int) int64 {
	if bits < 0 {
		return 0
	}
	return int64(1) << min(bits, 62)
}

// bitsFor is the number of bits that n ranges need.
func bitsFor(n int) int {
	bits := 0
	for 1<<bits < n {
		bits++
	}
	return bits
}
