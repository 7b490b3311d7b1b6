package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var selinux = Check{
	ID: "selinux", Title: "SELinux has the policy for containers", Source: "replicatedhq/embedded-cluster; selinux(8), Red Hat: changing SELinux states and modes",
	Breaks: "Without the policy package, containers start in the wrong domain. With a wrong label, programs cannot access their files.",
	Needs:  []string{"security", "packages", "bootSELinux", "kernel", "nextKernel", "directories", "targets"}, Run: judgeSELinux,
}

const containerPolicy = facts.PolicyPackage

// judgeSELinux judges the stricter one of the mode now and the mode of the next boot.
func judgeSELinux(f *facts.Facts, w *Want) Result {
	now, next, from := f.NextSELinux()
	found := now
	if next != now {
		found = fmt.Sprintf("%s now, %s after the next boot (%s)", now, next, from)
	}
	const once = "one mode, now and after the next boot"
	switch {
	case next == "unset":
		return Result{Fail, found, once, "set SELINUX=enforcing, permissive or disabled in /etc/selinux/config: without a valid mode the next boot is unknown"}
	case next == "enforcing" && otherPolicy(f):
		return Result{Fail, fmt.Sprintf("%s, with the policy %q (/etc/selinux/config line %d)", found, f.Boot.SELinux.Type, f.Boot.SELinux.TypeLine), "the policy targeted: " + containerPolicy + " has no other",
			"set SELINUXTYPE=targeted, run touch /.autorelabel and reboot; or set preflight.checks.selinux.severity: warn for a policy of the site that allows containers"}
	case now == "disabled" && next != "disabled":
		fix := "run fixfiles -F onboot and " + w.reboot() + ": files that are written now get no label"
		if f.Boot.SELinux.Relabel {
			fix = w.reboot() + "; /.autorelabel exists, so the boot takes longer"
		}
		status := Warn
		if next == "enforcing" {
			status = Fail
		}
		return Result{status, found, once, fix + "; or keep it disabled with SELINUX=disabled in /etc/selinux/config"}
	case now == "enforcing" || next == "enforcing":
		return judgePolicy(f, w, found)
	case now != next:
		return Result{Warn, found, once, "set the mode that the site requires, now (setenforce) and in /etc/selinux/config"}
	}
	return pass("%s", found)
}

// judgePolicy judges a host that is enforcing, or will be.
func judgePolicy(f *facts.Facts, w *Want, found string) Result {
	_, next, _ := f.NextSELinux()
	stray := strayLabels(f, w)
	switch {
	case f.Security.SELinux == "enforcing" && len(stray) > 0:
		return Result{Fail, strings.Join(stray, ", "), "the labels of the policy, such as container_var_lib_t or var_lib_t",
			"run restorecon -Rv DIRECTORY; for a directory outside of /var/lib run semanage fcontext -a -e /var/lib/kubelet DIRECTORY before (with the usual path), because the policy does not know it"}
	case f.Installed(containerPolicy) == nil && !slices.Contains(w.Packages, containerPolicy):
		return Result{Fail, found + ", without " + containerPolicy, containerPolicy, "add " + containerPolicy + " to packages.install and create the bundle again; keep SELinux enforcing"}
	case next != "enforcing":
		return Result{Warn, found, "enforcing, now and after the next boot", "set SELINUX=enforcing in /etc/selinux/config, and remove selinux=0 and enforcing=0 from the kernel command line; otherwise files that the next boot writes can lack labels"}
	case f.Installed(containerPolicy) != nil:
		return pass("%s, with %s", found, containerPolicy)
	default:
		return pass("%s; the bundle has %s", found, containerPolicy)
	}
}

// otherPolicy reports whether the policy is not the one that container-selinux extends.
func otherPolicy(f *facts.Facts) bool {
	kind := f.Boot.SELinux.Type
	return kind != "" && kind != "targeted"
}
