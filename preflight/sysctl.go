package preflight

import (
	"cmp"
	"maps"
	"slices"

	"airgap.dev/airgap/preflight/facts"
)

var bridgeNF = Check{
	ID: "bridge-nf", Title: "iptables sees bridged packets", Source: "kubeadm FileContent bridge-nf-call-iptables",
	Breaks: "Packets over a bridge bypass kube-proxy's rules: a Service does not answer from its own node.",
	Needs:  []string{"sysctls", "tuned"}, Run: func(f *facts.Facts, w *Want) Result {
		return judgeSysctl(f, w, "net.bridge.bridge-nf-call-iptables")
	},
}

var kernelDefaults = Check{
	ID: "kernel-defaults", Title: "The kubelet's kernel parameters stay set", Source: "kubelet protectKernelDefaults; CIS Kubernetes Benchmark",
	Breaks: "The kubelet exits if one of these parameters has another value after the next boot.",
	Needs:  []string{"sysctls", "tuned"}, Run: func(f *facts.Facts, w *Want) Result {
		for _, name := range slices.Sorted(maps.Keys(w.KubeletSysctls)) {
			if s, want := f.Sysctl(name), w.KubeletSysctls[name]; overrides(s, f, w, want) {
				return overridden(s, want)
			}
		}
		return pass("no file overrides airgap's values")
	},
}

// overrides reports whether a line overrides, at every boot, the value that install sets.
func overrides(s facts.Sysctl, f *facts.Facts, w *Want, want string) bool {
	return w.SysctlFile != "" && s.Boot != "" && s.Boot != want && wins(s, f, w)
}

// wins reports whether the line applies after install's file.
func wins(s facts.Sysctl, f *facts.Facts, w *Want) bool {
	switch {
	case s.OfCommandLine():
		return false
	case s.OfTuned():
		return f.Tuned.LeavesSysctls
	}
	return s.SortsAfter(w.SysctlFile)
}

func overridden(s facts.Sysctl, want string) Result {
	found := s.Setting() + " at every boot"
	if s.Value == want {
		found = s.Value + " now, but " + found
	}
	return Result{Fail, found, want, s.Fix(want)}
}

// judgeSysctl passes a parameter that install can set. It fails if a line would override the value
// at the next boot.
func judgeSysctl(f *facts.Facts, w *Want, name string) Result {
	s := f.Sysctl(name)
	if overrides(s, f, w, "1") {
		return overridden(s, "1")
	}
	now := cmp.Or(s.Value, "not available")
	switch {
	case s.Value == "1" && (s.Boot == "" || s.Boot == "1"):
		return pass("1")
	case s.Boot == "":
		return pass("%s now; install sets it to 1", now)
	case s.Boot == "1":
		return pass("%s now, although %s at every boot; install sets it to 1", now, s.Setting())
	default:
		return pass("%s now, and %s at every boot; install sets it to 1 in a later file", now, s.Setting())
	}
}
