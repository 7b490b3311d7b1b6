package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var machineIDs = Check{
	ID: "machine-ids", Title: "Machine ID is valid", Source: "Kubernetes documentation: unique product_uuid and machine-id",
	Breaks: "DHCP, the journal and parts of the cluster treat clones of one image as the same host.",
	Needs:  []string{"identity"}, Run: judgeMachineID,
}

func judgeMachineID(f *facts.Facts, _ *Want) Result {
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(f.Identity.MachineID) {
		found := f.Identity.MachineID
		if found == "" {
			found = "none"
		}
		return Result{Fail, found, "32 hexadecimal digits in /etc/machine-id, different on each host", "run systemd-machine-id-setup, then reboot"}
	}
	if uuid := strings.ToLower(f.Identity.ProductUUID); slices.Contains(CommonUUIDs(), uuid) {
		return Result{Warn, "the firmware has product_uuid " + uuid + ", as many other machines", "a UUID of this machine in /sys/class/dmi/id/product_uuid",
			"set the UUID in the firmware, or in the hypervisor's settings of the machine; Kubernetes does not compare it, but storage and licensing programs do"}
	}
	return pass("%s", f.Identity.MachineID)
}

// CommonUUIDs are those that vendors leave in the firmware of many machines.
func CommonUUIDs() []string {
	return []string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "03000200-0400-0500-0006-000700080009",
		"00020003-0004-0005-0006-000700080009", "12345678-1234-5678-90ab-cddeefaabbcc"}
}

var hostname = Check{
	ID: "hostname", Title: "Host name is valid", Source: "kubeadm Hostname: DNS-1123",
	Breaks: "The node is named after the host name. Static pods do not start under a name that Kubernetes rejects. With another name after a boot, the kubelet is another node.",
	Needs:  []string{"kernel", "nextKernel", "bootHostname"}, Run: judgeHostname,
}

// nextHostname is the host name of the next boot, and its source; "" if neither a file nor the kernel
// command line sets one. Before systemd 246 the parameter does not exist.
func nextHostname(f *facts.Facts) (name, from string) {
	cmdline, entry := f.NextCmdline()
	if p := nextboot.Last(cmdline, "systemd.hostname"); p.Value != "" && (f.Systemd == 0 || f.Systemd >= 246) {
		return p.Value, p.Text + " in " + entry
	}
	if f.Boot.Hostname.Name == "" {
		return "", ""
	}
	return f.Boot.Hostname.Name, f.Boot.Hostname.String()
}

// nodeName matches a DNS-1123 subdomain. The kubelet converts the name to lower case.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func judgeHostname(f *facts.Facts, w *Want) Result {
	name := strings.ToLower(f.Host)
	next, from := nextHostname(f)
	want := "a DNS name of at most 63 characters: letters, digits, hyphens and dots"
	switch {
	case name == "localhost" || strings.HasPrefix(name, "localhost."):
		return Result{Fail, f.Host, "a unique name", "run hostnamectl set-hostname NAME"}
	case len(name) > 63 || !nodeName.MatchString(name):
		return Result{Fail, f.Host, want, "run hostnamectl set-hostname NAME"}
	case next != "" && strings.ToLower(next) != name && (w.NodeName == "" || w.NodeName == name):
		// kubeadm fixes the kubelet's name only if it is not the host name.
		fix := "run hostnamectl set-hostname " + name
		if strings.HasPrefix(from, "systemd.hostname") {
			fix = bootFix("systemd.hostname")
		}
		return Result{Fail, fmt.Sprintf("%s now, %s after the next boot (%s): the kubelet then registers as another node", f.Host, next, from), "the same name, now and after the next boot", fix}
	case name != f.Host:
		return Result{Warn, f.Host, name, "run hostnamectl set-hostname " + name + ": the kubelet names the node in lower case, and programs that compare the names find no node"}
	default:
		return pass("%s", f.Host)
	}
}
