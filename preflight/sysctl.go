package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Sysctl is a kernel parameter.
type Sysctl struct {
	Name  string `yaml:"name" json:"name"`
	Value string `yaml:"value" json:"value"` // the current value; "" if the kernel does not have the parameter (yet)
	// Boot is the value that the configuration sets at the next boot, and File the last file that
	// sets it.
	Boot string `yaml:"boot,omitempty" json:"boot,omitempty"`
	File string `yaml:"file,omitempty" json:"file,omitempty"`
}

func surveyedSysctls() []string {
	return []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding",
		"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables",
		"kernel.modules_disabled", "net.netfilter.nf_conntrack_max",
		"kernel.pid_max", "kernel.threads-max", userNamespacesParameter,
		"fs.inotify.max_user_instances", "fs.inotify.max_user_watches",
		"vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops",
		"kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes",
		localRange, reservedPorts,
		"net.ipv4.neigh.default.gc_thresh1", "net.ipv4.neigh.default.gc_thresh2", "net.ipv4.neigh.default.gc_thresh3"}
}

func readSysctls(_ context.Context, r reader, f *Facts) error {
	boot, err := readBootSysctls(r)
	if err != nil {
		return err
	}
	for _, name := range surveyedSysctls() {
		value, err := r.optional("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		if err != nil {
			return err
		}
		set := boot[name]
		f.Sysctls = append(f.Sysctls, Sysctl{name, value, set.Boot, set.File})
	}
	return nil
}

// readBootSysctls reads the files in the order of systemd-sysctl: by name, in all directories
// together. A file in /etc hides a file with the same name in /run, and that one a file in
// /usr/lib. /etc/sysctl.conf counts as 99-sysctl.conf: Enterprise Linux has a link with that name.
func readBootSysctls(r reader) (map[string]Sysctl, error) {
	files := map[string]string{}
	for _, dir := range []string{"usr/lib/sysctl.d", "run/sysctl.d", "etc/sysctl.d"} {
		names, err := r.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") {
				files[name] = dir + "/" + name
			}
		}
	}
	if r.exists("etc/sysctl.conf") {
		files["99-sysctl.conf"] = "etc/sysctl.conf"
	}
	settings := map[string]Sysctl{}
	order := make([]string, 0, len(files))
	for name := range files {
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		lines, err := r.optionalLines(files[name]) // systemd also ignores a dangling link
		if err != nil {
			return nil, err
		}
		for key, value := range parseSysctls(lines) {
			settings[key] = Sysctl{Name: key, Boot: value, File: "/" + files[name]}
		}
	}
	return settings, nil
}

// parseSysctls reads the format of sysctl.d(5): key = value, a hyphen before the key to ignore
// errors, and slashes instead of dots.
func parseSysctls(lines []string) map[string]string {
	values := map[string]string{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		key = strings.TrimPrefix(strings.TrimSpace(key), "-")
		if slash := strings.IndexAny(key, "./"); slash >= 0 && key[slash] == '/' {
			key = strings.ReplaceAll(key, "/", ".")
		}
		if key == "net.ipv4.conf.all.forwarding" { // an alias in the kernel
			key = "net.ipv4.ip_forward"
		}
		values[key] = strings.TrimSpace(value)
	}
	return values
}

func (f *Facts) sysctl(name string) Sysctl {
	for _, s := range f.Sysctls {
		if s.Name == name {
			return s
		}
	}
	return Sysctl{Name: name}
}

var ipForward = Check{
	ID: "ip-forward", Title: "IP forwarding stays on", Source: "kubeadm; hardening guides switch it off",
	Breaks: "A hardened setting returns at the next boot. From then on the kernel drops packets between pods and nodes.",
	Needs:  []string{"sysctls"}, Run: func(f *Facts, w *Want) Result { return judgeSysctl(f, w, "net.ipv4.ip_forward") },
}

var bridgeNF = Check{
	ID: "bridge-nf", Title: "iptables sees bridged packets", Source: "kubeadm FileContent bridge-nf-call-iptables",
	Breaks: "Packets over a bridge bypass kube-proxy's rules: a Service does not answer from its own node.",
	Needs:  []string{"sysctls"}, Run: func(f *Facts, w *Want) Result {
		return judgeSysctl(f, w, "net.bridge.bridge-nf-call-iptables")
	},
}

var kernelDefaults = Check{
	ID: "kernel-defaults", Title: "The kubelet's kernel parameters stay set", Source: "kubelet protectKernelDefaults; CIS Kubernetes Benchmark",
	Breaks: "The kubelet exits if one of these parameters has another value after the next boot.",
	Needs:  []string{"sysctls"}, Run: func(f *Facts, w *Want) Result {
		for _, name := range slices.Sorted(maps.Keys(w.KubeletSysctls)) {
			if s, want := f.sysctl(name), w.KubeletSysctls[name]; s.overrides(w, want) {
				return s.overridden(want)
			}
		}
		return pass("no file overrides airgap's values")
	},
}

// overrides reports whether a file overrides, at every boot, the value that install sets.
func (s Sysctl) overrides(w *Want, want string) bool {
	return w.SysctlFile != "" && s.Boot != "" && s.Boot != want && s.sortsAfter(w.SysctlFile)
}

// sortsAfter reports whether systemd-sysctl applies the parameter's file after the other one.
func (s Sysctl) sortsAfter(file string) bool {
	return path.Base(bootOrder(s.File)) > path.Base(file)
}

func (s Sysctl) overridden(want string) Result {
	return Result{Fail, fmt.Sprintf("%s sets %s = %s at every boot", s.File, s.Name, s.Boot), want,
		fmt.Sprintf("remove the line from %s, or set it to %s", s.File, want)}
}

// judgeSysctl passes a parameter that install can set. It fails if a file would override the
// value at the next boot.
func judgeSysctl(f *Facts, w *Want, name string) Result {
	s := f.sysctl(name)
	switch {
	case s.overrides(w, "1"):
		return s.overridden("1")
	case s.Value == "1":
		return pass("1")
	default:
		return pass("%s now; install sets it to 1", cmp.Or(s.Value, "not available"))
	}
}

// bootOrder is the name that systemd-sysctl sorts the file by.
func bootOrder(file string) string {
	if file == "/etc/sysctl.conf" {
		return "99-sysctl.conf"
	}
	return file
}
