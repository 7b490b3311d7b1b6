package preflight

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var localPorts = Check{
	ID: "local-ports", Title: "Outgoing connections leave the cluster's ports free", Source: "kernel documentation: ip-sysctl, ip_local_port_range and ip_local_reserved_ports",
	Breaks: "An outgoing connection of any program uses a port of the cluster for a while: the kubelet, etcd, the registry or a NodePort cannot listen, usually after a restart.",
	Needs:  []string{"sysctls"}, Run: judgeLocalPorts,
}

// judgeLocalPorts compares the range from which the kernel chooses the port of an outgoing
// connection, now and at the next boot, with the ports that are not reserved.
func judgeLocalPorts(f *facts.Facts, w *Want) Result {
	inRange, reserved := f.Sysctl(facts.LocalRange), f.Sysctl(facts.ReservedPorts)
	if inRange.Value == "" && inRange.Boot == "" {
		return skipped("the survey does not have " + facts.LocalRange)
	}
	if reserved.File != "" && reserved.File != w.PortsFile && w.PortsFile != "" && reserved.SortsAfter(w.PortsFile) {
		if free := w.clusterPorts(portSet(reserved.Boot)); len(free) > 0 {
			return Result{Warn, fmt.Sprintf("%s sets %s = %s at every boot, after airgap's file", reserved.File, facts.ReservedPorts, reserved.Boot),
				"the cluster's ports are reserved at every boot", "add " + portText(free) + " to the line in " + reserved.File + ", or remove the line"}
		}
	}
	for _, place := range []struct{ value, where string }{{inRange.Value, "now"}, {inRange.Boot, "from " + inRange.File}} {
		first, last, ok := parsePortRange(place.value)
		if !ok {
			continue
		}
		hit := slices.DeleteFunc(w.clusterPorts(portSet(reserved.Value)), func(p int) bool { return p < first || p > last })
		if len(hit) > 0 {
			return Result{Warn, fmt.Sprintf("%s = %d %d (%s) has the cluster's ports %s", facts.LocalRange, first, last, place.where, portText(hit)), "a range without them, such as the kernel's 32768 60999",
				"install reserves these ports; to keep connections that exist before out of them, set " + facts.LocalRange + " = 32768 60999 in the file that sets it"}
		}
	}
	return pass("%s", strings.Join(strings.Fields(inRange.Value), " to "))
}

// clusterPorts are the ports of the cluster on this host without the reserved ones, sorted.
func (w *Want) clusterPorts(reserved map[int]bool) []int {
	var ports []int
	for _, p := range w.Ports {
		if !p.Redirected {
			ports = append(ports, p.Number)
		}
	}
	for _, r := range w.NodePorts {
		for port := max(r[0], 0); port <= min(r[1], 65535); port++ {
			ports = append(ports, port)
		}
	}
	ports = slices.DeleteFunc(ports, func(p int) bool { return reserved[p] })
	slices.Sort(ports)
	return slices.Compact(ports)
}

// parsePortRange reads "32768 60999".
func parsePortRange(text string) (first, last int, ok bool) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, 0, false
	}
	first, errFirst := strconv.Atoi(words[0])
	last, errLast := strconv.Atoi(words[1])
	return first, last, errFirst == nil && errLast == nil
}

// portSet reads "5000,30000-32767". It ignores what the kernel would refuse.
func portSet(text string) map[int]bool {
	set := map[int]bool{}
	for item := range strings.SplitSeq(text, ",") {
		from, to, is := strings.Cut(strings.TrimSpace(item), "-")
		first, err := strconv.Atoi(from)
		last := first
		if is && err == nil {
			last, err = strconv.Atoi(to)
		}
		for port := first; err == nil && first >= 0 && last <= 65535 && port <= last; port++ {
			set[port] = true
		}
	}
	return set
}

// portText is the reverse of portSet, for sorted ports: "5000,30000-32767".
func portText(ports []int) string {
	var items []string
	for i := 0; i < len(ports); {
		j := i
		for j+1 < len(ports) && ports[j+1] == ports[j]+1 {
			j++
		}
		item := strconv.Itoa(ports[i])
		if j > i {
			item += "-" + strconv.Itoa(ports[j])
		}
		items = append(items, item)
		i = j + 1
	}
	return strings.Join(items, ",")
}
