package preflight

import (
	"fmt"
	"math"
	"strings"
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
	Breaks: "The last nodes get no range of addresses, and no pod of theirs starts.",
	Run:    judgeSize,
}

func judgeSize(_ *Facts, w *Want) Result {
	pods, err := parseSubnets("pod", w.PodSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	if len(pods) == 0 {
		return skipped("no subnet given")
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
			return Result{Fail, fmt.Sprintf("%s has room for %d nodes, and there are %d", s.prefix, nodes, w.Nodes),
				fmt.Sprintf("a range of /%d for each node", mask), fmt.Sprintf("choose a larger kubernetes.podSubnet, such as a /%d", mask-bitsFor(w.Nodes))}
		} else if nodes < math.MaxInt32 {
			found = append(found, fmt.Sprintf("%s has room for %d nodes", s.prefix, nodes))
		}
	}
	return pass("%s", strings.Join(found, ", "))
}

// ranges is how many ranges a number of bits tells apart; none when it is negative.
func ranges(bits int) int64 {
	if bits < 0 {
		return 0
	}
	return int64(1) << min(bits, 62)
}

// bitsFor is how many bits tell n things apart.
func bitsFor(n int) int {
	bits := 0
	for 1<<bits < n {
		bits++
	}
	return bits
}
