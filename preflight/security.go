package preflight

import (
	"context"
	"slices"
	"strings"
)

// Security is the hardening that changes what may run.
type Security struct {
	SELinux string `yaml:"selinux" json:"selinux"` // "enforcing", "permissive" or "disabled"
	FIPS    bool   `yaml:"fips" json:"fips"`
}

func readSecurity(_ context.Context, r reader, f *Facts) error {
	enforce, err := r.optional("sys/fs/selinux/enforce")
	if err != nil {
		return err
	}
	f.Security.SELinux = map[string]string{"": "disabled", "0": "permissive", "1": "enforcing"}[enforce]
	fips, err := r.optional("proc/sys/crypto/fips_enabled")
	f.Security.FIPS = fips == "1"
	return err
}

var selinux = Check{
	ID: "selinux", Title: "SELinux", Source: "replicatedhq/embedded-cluster",
	Breaks: "Without the policy's package containers start in the wrong domain, and are denied their files.",
	Needs:  []string{"security", "packages"}, Run: judgeSELinux,
}

func judgeSELinux(f *Facts, w *Want) Result {
	const policy = "container-selinux"
	switch {
	case f.Security.SELinux != "enforcing":
		return pass("%s", f.Security.SELinux)
	case f.installed(policy) != nil:
		return pass("enforcing, with %s", policy)
	case slices.Contains(w.Packages, policy):
		return pass("enforcing; the bundle brings %s", policy)
	default:
		return Result{Fail, "enforcing, without " + policy, policy, "add " + policy + " to packages.install and make the bundle again; leave SELinux enforcing"}
	}
}

var fapolicyd = Check{
	ID: "fapolicyd", Title: "fapolicyd", Source: "k3s#9008, fapolicyd#310",
	Breaks: "It starts no program that nobody vouches for: neither the runtime nor network plugins.",
	Needs:  []string{"units"}, Run: judgeFapolicyd,
}

// judgeFapolicyd knows that nobody vouches for what NVIDIA's installer unpacks, nor for
// the programs that it installs.
func judgeFapolicyd(f *Facts, w *Want) Result {
	switch {
	case !f.unit("fapolicyd.service").Active():
		return pass("not active")
	case w.Is(GPU) && w.Installer:
		return Result{Fail, "active, and NVIDIA's installer brings the driver", "packages, for which rpm vouches",
			"set gpu.source to dkms or precompiled, and make the bundle again; or have fapolicyd's owners allow the installer, and set preflight.checks.fapolicyd.severity: warn"}
	default:
		return pass("active; install has it trust the runtime's programs")
	}
}

var firewalld = Check{
	ID: "firewalld", Title: "firewalld", Source: "kubeadm, flannel and Calico documentation",
	Breaks: "Hosts do not reach each other's API server, kubelet, registry or pods.",
	Needs:  []string{"units"}, Run: judgeFirewalld,
}

func judgeFirewalld(f *Facts, w *Want) Result {
	switch {
	case !f.unit("firewalld.service").Active():
		return pass("not active")
	case w.Network.FilterAlone:
		return Result{Fail, "active", "no other manager of packet filter rules beside " + w.Network.Plugin + ", or the site's word that it is meant",
			"leave firewalld on. preflight.checks.firewalld.severity: warn says that it is meant, and install opens the ports; or network.plugin: flannel"}
	case w.FirewallLeft == nil:
		return pass("active; install opens the cluster's ports")
	default:
		return Result{Warn, "active, and airgap.yaml leaves it to others", "open: " + strings.Join(w.FirewallLeft, "; "),
			"have the firewall's owners open them; or set hostSettings.firewalld: open"}
	}
}

var fips = Check{
	ID: "fips", Title: "FIPS mode", Source: "airgap: programs of the cluster are not FIPS-validated",
	Breaks: "Whoever asks for validated cryptography has to know that the cluster's programs are not.",
	Needs:  []string{"security"}, Run: judgeFIPS,
}

func judgeFIPS(f *Facts, _ *Want) Result {
	if f.Security.FIPS {
		return Result{Warn, "on", "off, or an exception by the site's security officers", "the cluster runs, but its cryptography is not FIPS-validated"}
	}
	return pass("off")
}
