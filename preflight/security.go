package preflight

import (
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var fapolicyd = Check{
	ID: "fapolicyd", Title: "fapolicyd allows the cluster's programs", Source: "k3s#9008, fapolicyd#310",
	Breaks: "fapolicyd blocks programs that are not trusted: the runtime and network plugins do not start.",
	Needs:  []string{"units"}, Run: judgeFapolicyd,
}

// nextBootStarts is the result for a service that is stopped during the installation, which therefore
// does not configure it, and that the next boot starts.
func (w *Want) nextBootStarts(unit, then, want string) Result {
	status := Fail
	if w.Managed { // an earlier run may have configured it
		status = Warn
	}
	return Result{status, "stopped now, and the next boot starts it: " + then, want, "run systemctl start " + unit + ", then airgap preflight again; or run systemctl disable " + unit}
}

// judgeFapolicyd fails with NVIDIA's installer: fapolicyd does not trust the programs that it
// unpacks and installs.
func judgeFapolicyd(f *facts.Facts, w *Want) Result {
	unit := f.Unit("fapolicyd.service")
	switch {
	case unit.Later():
		return w.nextBootStarts("fapolicyd", "it then blocks the runtime's programs", "running, so that install adds the runtime's programs to its trust list")
	case !unit.Active():
		return pass("not active")
	case w.HasRole(GPU) && w.Installer:
		return Result{Fail, "active, and the driver comes from NVIDIA's installer", "a driver from RPMs, which fapolicyd trusts",
			"set gpu.source to dkms or precompiled, and create the bundle again; or ask fapolicyd's administrators to allow the installer, and set preflight.checks.fapolicyd.severity: warn"}
	default:
		return pass("active; install adds the runtime's programs to its trust list")
	}
}

var firewalld = Check{
	ID: "firewalld", Title: "firewalld allows the cluster's traffic", Source: "kubeadm, flannel and Calico documentation",
	Breaks: "Hosts cannot reach each other's API server, kubelet, registry or pods.",
	Needs:  []string{"units"}, Run: judgeFirewalld,
}

func judgeFirewalld(f *facts.Facts, w *Want) Result {
	unit, denied := f.Unit("firewalld.service"), closedPorts(f, true)
	active := "active"
	if unit.Later() {
		active = "stopped now, and the next boot starts it"
	}
	switch {
	case !unit.Active() && !unit.Later():
		return pass("not active")
	case w.Network.FilterAlone:
		return Result{Fail, active, "no second manager of packet filter rules in addition to " + w.Network.Plugin + ", or the site's confirmation",
			"keep firewalld on, and confirm it with preflight.checks.firewalld.severity: warn, so that install opens the ports; or set network.plugin: flannel"}
	case w.FirewallLeft == nil && unit.Later():
		return w.nextBootStarts("firewalld", "it then closes the cluster's ports", "running, so that install opens the ports")
	case w.FirewallLeft == nil && len(denied) > 0:
		return Result{Fail, "active, and a rule of firewalld comes before the ports that install opens:\n" + strings.Join(denied, "\n"), "no rule before the cluster's ports",
			"find it with firewall-cmd --list-all-zones, --list-all-policies and --direct --get-all-rules; accept the ports before it, or limit it to other addresses"}
	case w.FirewallLeft == nil:
		return pass("active; install opens the cluster's ports")
	default:
		return Result{Warn, active + ", and airgap.yaml does not let install change it", "open ports: " + strings.Join(w.FirewallLeft, "; "),
			"ask the firewall's administrators to open them; or set hostSettings.firewalld: open"}
	}
}

// closedPorts returns the closed ports with the rules of firewalld, or with the other rules.
func closedPorts(f *facts.Facts, firewalld bool) (found []string) {
	for _, c := range f.Asked.ClosedPorts {
		if strings.HasSuffix(c.Table, " firewalld") == firewalld {
			found = append(found, c.String())
		}
	}
	return found
}

var fips = Check{
	ID: "fips", Title: "FIPS mode is off", Source: "airgap: programs of the cluster are not FIPS-validated",
	Breaks: "A site that requires validated cryptography must know that the cluster's programs are not FIPS-validated.",
	Needs:  []string{"security", "nextKernel"}, Run: judgeFIPS,
}

func judgeFIPS(f *facts.Facts, _ *Want) Result {
	next, from := f.NextCmdline()
	found := "on"
	if !f.Security.FIPS {
		found = "off now, on after the next boot: fips=1 in " + from
	}
	if f.Security.FIPS || nextboot.Last(next, "fips").Value == "1" {
		return Result{Warn, found, "off, or an exception by the site's security officers", "ask the site's security officers for an exception: the cluster runs, but its cryptography is not FIPS-validated"}
	}
	return pass("off")
}
