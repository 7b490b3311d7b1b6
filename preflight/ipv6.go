package preflight

import (
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var ipv6 = Check{
	ID: "ipv6", Title: "Kernel has IPv6", Source: "kernel documentation: ipv6.disable; harbor-helm#985, nginx/docker-nginx-unprivileged#35",
	Breaks: "A program that listens on [::] does not start: \"Address family not supported by protocol\". Dual stack does not work.",
	Needs:  []string{"kernel", "nextKernel"}, Run: judgeIPv6,
}

// judgeIPv6 warns for add-ons: a survey cannot tell on which addresses their programs listen.
func judgeIPv6(f *facts.Facts, w *Want) Result {
	found := ipv6Off(f)
	const fix = "run grubby --update-kernel=ALL --remove-args=ipv6.disable, remove it from /etc/default/grub, and reboot; to have no IPv6 addresses, set net.ipv6.conf.all.disable_ipv6 = 1 instead"
	switch {
	case found == "":
		return pass("on")
	case strings.Contains(w.PodSubnet+w.ServiceSubnet+w.NodeAddress, ":"):
		return Result{Fail, found, "IPv6, for the cluster's IPv6 addresses", fix}
	case len(w.Addons) > 0:
		return Result{Warn, found, "IPv6, because programs of the add-ons may listen on [::]: " + strings.Join(w.Addons, ", "), fix + "; or set the add-ons to IPv4 only"}
	}
	return pass("%s; nothing in the plan needs IPv6", found)
}

// ipv6Off is the parameter that leaves the kernel without IPv6, now or at the next boot; "" if
// there is none.
func ipv6Off(f *facts.Facts) string {
	next, from := f.NextCmdline()
	for _, of := range []struct{ cmdline, from string }{{f.Kernel.Cmdline, "/proc/cmdline"}, {next, from + ", from the next boot on"}} {
		if p := nextboot.Last(of.cmdline, "ipv6.disable"); p.Value == "1" {
			return p.Text + " in " + of.from
		}
	}
	return ""
}
