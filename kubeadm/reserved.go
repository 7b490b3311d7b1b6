package kubeadm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/node"
)

// reservedPatch is kubeadm's patch for the kubelet's configuration of this host. The cluster has one
// configuration for all kubelets, but hosts differ in size.
const reservedPatch = node.PatchesDir + "/kubeletconfiguration0+merge.yaml"

// reserves reports whether a host gets airgap's kubeReserved. The site may set its own, and the
// memory manager requires sums that only the site knows.
func (c Config) reserves() bool {
	for _, key := range []string{"kubeReserved", "systemReserved", "reservedSystemCPUs", "reservedMemory", "memoryManagerPolicy"} {
		if _, set := c.Overrides.Kubelet[key]; set {
			return false
		}
	}
	return true
}

// reserved is the kubeReserved of a host, for the kubelet, the runtime and the operating system:
// 280 MiB and 5 % of the memory, and 80 millicores and 1 % of the CPUs. This is the formula of GKE
// on-prem 1.5 (documentation: Resources available for your workloads), for virtual machines of a
// site. Without it, pods may use all memory, and the kernel kills the kubelet or sshd.
func reserved(memory int64, cpus int) map[string]string {
	const mib = 1 << 20
	return map[string]string{
		"memory": fmt.Sprintf("%dMi", 280+memory/20/mib),
		"cpu":    fmt.Sprintf("%dm", 80+10*cpus),
	}
}

var memTotal = regexp.MustCompile(`(?m)^MemTotal:\s+(\d{1,15}) kB$`)

// reservedText is the content of the patch; nil without a default.
func (m Machine) reservedText(c Config) ([]byte, error) {
	if !c.reserves() {
		return nil, nil
	}
	memory, err := os.ReadFile(m.Path("/proc/meminfo"))
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	processors, err := os.ReadFile(m.Path("/proc/cpuinfo"))
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	total := memTotal.FindSubmatch(memory)
	cpus := 0
	for lines := bufio.NewScanner(bytes.NewReader(processors)); lines.Scan(); {
		if bytes.HasPrefix(lines.Bytes(), []byte("processor")) {
			cpus++
		}
	}
	if total == nil || cpus == 0 {
		return nil, errors.New("read the size of this host: /proc/meminfo or /proc/cpuinfo has an unknown format")
	}
	kib, err := strconv.ParseInt(string(total[1]), 10, 64)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(object{"kubeReserved": reserved(kib<<10, cpus)})
}
