package facts

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
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
	ForwardingParameter        = "net.ipv4.ip_forward"
	DefaultForwardingParameter = "net.ipv4.conf.default.forwarding"
)

func surveyedSysctls() []string {
	return []string{ForwardingParameter, DefaultForwardingParameter, "net.ipv6.conf.all.forwarding",
		"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables",
		LockedParameter, "net.netfilter.nf_conntrack_max",
		"kernel.pid_max", "kernel.threads-max", UserNamespacesParameter, "user.max_net_namespaces", "user.max_mnt_namespaces",
		"user.max_pid_namespaces", "user.max_ipc_namespaces", "user.max_uts_namespaces", "user.max_cgroup_namespaces",
		"fs.inotify.max_user_instances", "fs.inotify.max_user_watches",
		"vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops",
		"kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes", "vm.nr_hugepages", "vm.nr_hugepages_mempolicy",
		LocalRange, ReservedPorts,
		"net.ipv4.neigh.default.gc_thresh1", "net.ipv4.neigh.default.gc_thresh2", "net.ipv4.neigh.default.gc_thresh3"}
}

// LaterLinks are names of interfaces that the pod networks create. A glob in sysctl.d can match them
// before they exist.
func LaterLinks() []string {
	return []string{"cni0", "flannel.1", "cali0", "vxlan.calico", "tunl0", "cilium_host", "lxc0", "veth0"}
}

// LinkParameter is the name of a parameter of an interface: net.ipv4.conf.bond0/100.forwarding.
func LinkParameter(link, parameter string) string {
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
	links = slices.DeleteFunc(links, IsPodLink)
	for _, link := range append(links, LaterLinks()...) {
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
		if parameter == "forwarding" && (link == "all" || link == "default") || parameter != "forwarding" && IsPodLink(link) {
			continue
		}
		s, err := readSysctl(r, boot, LinkParameter(link, parameter))
		if err != nil {
			return err
		}
		if s.Boot != "" || parameter == "forwarding" && s.Value == "0" && f.Sysctl(ForwardingParameter).Value == "1" {
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

// Sysctl returns a kernel parameter; the zero value with its name if the survey does not have it.
func (f *Facts) Sysctl(name string) Sysctl {
	for _, s := range f.Sysctls {
		if s.Name == name {
			return s
		}
	}
	return Sysctl{Name: name}
}

// at is the place of the line that sets the parameter at boot.
func (s Sysctl) at() string { return sysctld.Setting{File: s.File, Line: s.Line}.At() }

// Setting is that line: "/etc/sysctl.d/60-cis.conf:3 sets kernel.panic = 0".
func (s Sysctl) Setting() string {
	return fmt.Sprintf("%s sets %s = %s", s.at(), cmp.Or(s.Key, s.Name), s.Boot)
}

// SortsAfter reports whether systemd-sysctl applies the parameter's file after the other one.
func (s Sysctl) SortsAfter(file string) bool {
	return path.Base(bootOrder(s.File)) > path.Base(file)
}

// OfTuned reports whether a profile of tuned sets the value at boot.
func (s Sysctl) OfTuned() bool {
	return strings.HasPrefix(s.File, "/etc/tuned/") || strings.HasPrefix(s.File, "/usr/lib/tuned/")
}

// OfCommandLine reports whether the kernel command line sets the value, before any file.
func (s Sysctl) OfCommandLine() bool {
	return s.File == "/proc/cmdline" || strings.HasPrefix(s.File, "/boot/")
}

// Fix is the hint for a line that must have another value.
func (s Sysctl) Fix(want string) string {
	if s.OfTuned() {
		return "set reapply_sysctl = 1 in /etc/tuned/tuned-main.conf, then run systemctl restart tuned"
	}
	return fmt.Sprintf("remove the line from %s, or set it to %s", s.File, want)
}

// bootOrder is the name that systemd-sysctl sorts the file by. /etc/sysctl.conf counts only with a
// link of that name, or for tuned, which reads it last.
func bootOrder(file string) string {
	if file == "/etc/sysctl.conf" {
		return "99-sysctl.conf"
	}
	return file
}

const UserNamespacesParameter = "user.max_user_namespaces"

// HasAddress reports whether a link has the address.
func (f *Facts) HasAddress(link, address string) bool {
	return slices.ContainsFunc(f.Links, func(l Link) bool {
		return l.Name == link && slices.ContainsFunc(l.Addresses, func(a netip.Prefix) bool { return a.Addr().String() == address })
	})
}
