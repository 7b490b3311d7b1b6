package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/sysctld"
)

// Sysctl is a kernel parameter.
type Sysctl struct {
	Name  string `yaml:"name" json:"name"`
	Value string `yaml:"value" json:"value"` // the current value; "" if the kernel does not have the parameter (yet)
	// Boot is the value that the configuration sets at the next boot; "" for none. File and Line are
	// the place of its last line. Key is the name in that line if it is not Name: a glob, an alias, or
	// the parameter that an interface copies.
	Boot string `yaml:"boot,omitempty" json:"boot,omitempty"`
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	Line int    `yaml:"line,omitempty" json:"line,omitempty"`
	Key  string `yaml:"key,omitempty" json:"key,omitempty"`
}

const (
	forwardingParameter        = "net.ipv4.ip_forward"
	defaultForwardingParameter = "net.ipv4.conf.default.forwarding"
)

func surveyedSysctls() []string {
	return []string{forwardingParameter, defaultForwardingParameter, "net.ipv6.conf.all.forwarding",
		"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables",
		lockedParameter, "net.netfilter.nf_conntrack_max",
		"kernel.pid_max", "kernel.threads-max", userNamespacesParameter,
		"fs.inotify.max_user_instances", "fs.inotify.max_user_watches",
		"vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops",
		"kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes", "vm.nr_hugepages",
		localRange, reservedPorts,
		"net.ipv4.neigh.default.gc_thresh1", "net.ipv4.neigh.default.gc_thresh2", "net.ipv4.neigh.default.gc_thresh3"}
}

// laterLinks are names of interfaces that the pod networks create. A glob in sysctl.d can match them
// before they exist.
func laterLinks() []string {
	return []string{"cni0", "flannel.1", "cali0", "vxlan.calico", "tunl0", "cilium_host", "lxc0", "veth0"}
}

// linkParameter is the name of a parameter of an interface: net.ipv4.conf.bond0/100.forwarding.
func linkParameter(link, parameter string) string {
	return sysctld.Name("net/ipv4/conf/" + link + "/" + parameter)
}

func readSysctls(_ context.Context, r reader, f *Facts) error {
	boot, err := sysctld.Read(r.fs)
	if err != nil {
		return err
	}
	for _, name := range surveyedSysctls() {
		s, err := readSysctl(r, boot, name)
		if err != nil {
			return err
		}
		f.Sysctls = append(f.Sysctls, s)
	}
	links, err := r.names(linkSettings)
	if err != nil {
		return err
	}
	links = slices.DeleteFunc(links, isPodLink)
	for _, link := range append(links, laterLinks()...) {
		if err := readLinkSysctls(r, boot, link, f); err != nil {
			return err
		}
	}
	return nil
}

// readLinkSysctls adds the parameters of an interface that the next boot sets, and a forwarding that
// is off although the host forwards.
func readLinkSysctls(r reader, boot *sysctld.Boot, link string, f *Facts) error {
	for _, parameter := range []string{"forwarding", "rp_filter", "arp_filter", "arp_ignore"} {
		if parameter == "forwarding" && (link == "all" || link == "default") || parameter != "forwarding" && isPodLink(link) {
			continue
		}
		s, err := readSysctl(r, boot, linkParameter(link, parameter))
		if err != nil {
			return err
		}
		if s.Boot != "" || parameter == "forwarding" && s.Value == "0" && f.sysctl(forwardingParameter).Value == "1" {
			f.Sysctls = append(f.Sysctls, s)
		}
	}
	return nil
}

func readSysctl(r reader, boot *sysctld.Boot, name string) (Sysctl, error) {
	value, err := r.optional("proc/sys/" + sysctld.Path(name))
	if err != nil {
		return Sysctl{}, err
	}
	s := Sysctl{Name: name, Value: value}
	if set, is := boot.Of(name); is {
		s.Boot, s.File, s.Line = set.Value, set.File, set.Line
		if set.Key != name {
			s.Key = set.Key
		}
	}
	return s, nil
}

func (f *Facts) sysctl(name string) Sysctl {
	for _, s := range f.Sysctls {
		if s.Name == name {
			return s
		}
	}
	return Sysctl{Name: name}
}

// at is the place of the line that sets the parameter at boot.
func (s Sysctl) at() string { return sysctld.Setting{File: s.File, Line: s.Line}.At() }

// line is that line: "/etc/sysctl.d/60-cis.conf:3 sets kernel.panic = 0".
func (s Sysctl) line() string {
	return fmt.Sprintf("%s sets %s = %s", s.at(), cmp.Or(s.Key, s.Name), s.Boot)
}

var bridgeNF = Check{
	ID: "bridge-nf", Title: "iptables sees bridged packets", Source: "kubeadm FileContent bridge-nf-call-iptables",
	Breaks: "Packets over a bridge bypass kube-proxy's rules: a Service does not answer from its own node.",
	Needs:  []string{"sysctls", "tuned"}, Run: func(f *Facts, w *Want) Result {
		return judgeSysctl(f, w, "net.bridge.bridge-nf-call-iptables")
	},
}

var kernelDefaults = Check{
	ID: "kernel-defaults", Title: "The kubelet's kernel parameters stay set", Source: "kubelet protectKernelDefaults; CIS Kubernetes Benchmark",
	Breaks: "The kubelet exits if one of these parameters has another value after the next boot.",
	Needs:  []string{"sysctls", "tuned"}, Run: func(f *Facts, w *Want) Result {
		for _, name := range slices.Sorted(maps.Keys(w.KubeletSysctls)) {
			if s, want := f.sysctl(name), w.KubeletSysctls[name]; overrides(s, f, w, want) {
				return overridden(s, want)
			}
		}
		return pass("no file overrides airgap's values")
	},
}

// overrides reports whether a line overrides, at every boot, the value that install sets.
func overrides(s Sysctl, f *Facts, w *Want, want string) bool {
	return w.SysctlFile != "" && s.Boot != "" && s.Boot != want && wins(s, f, w)
}

// wins reports whether the line applies after install's file.
func wins(s Sysctl, f *Facts, w *Want) bool {
	switch {
	case s.File == "/proc/cmdline":
		return false
	case s.ofTuned():
		return f.Tuned.LeavesSysctls
	}
	return s.sortsAfter(w.SysctlFile)
}

// sortsAfter reports whether systemd-sysctl applies the parameter's file after the other one.
func (s Sysctl) sortsAfter(file string) bool {
	return path.Base(bootOrder(s.File)) > path.Base(file)
}

func (s Sysctl) ofTuned() bool {
	return strings.HasPrefix(s.File, "/etc/tuned/") || strings.HasPrefix(s.File, "/usr/lib/tuned/")
}

func overridden(s Sysctl, want string) Result {
	found := s.line() + " at every boot"
	if s.Value == want {
		found = s.Value + " now, but " + found
	}
	return Result{Fail, found, want, s.fix(want)}
}

// fix is the hint for a line that must have another value.
func (s Sysctl) fix(want string) string {
	if s.ofTuned() {
		return "set reapply_sysctl = 1 in /etc/tuned/tuned-main.conf, then run systemctl restart tuned"
	}
	return fmt.Sprintf("remove the line from %s, or set it to %s", s.File, want)
}

// judgeSysctl passes a parameter that install can set. It fails if a line would override the value
// at the next boot.
func judgeSysctl(f *Facts, w *Want, name string) Result {
	s := f.sysctl(name)
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
		return pass("%s now, although %s at every boot; install sets it to 1", now, s.line())
	default:
		return pass("%s now, and %s at every boot; install sets it to 1 in a later file", now, s.line())
	}
}

// bootOrder is the name that systemd-sysctl sorts the file by. /etc/sysctl.conf counts only with a
// link of that name, or for tuned, which reads it last.
func bootOrder(file string) string {
	if file == "/etc/sysctl.conf" {
		return "99-sysctl.conf"
	}
	return file
}
