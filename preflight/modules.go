package preflight

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Module is the state of a kernel module.
type Module string

const (
	Loaded   Module = "loaded"
	BuiltIn  Module = "built-in"
	Loadable Module = "loadable"
	Blocked  Module = "blocked" // an install line makes modprobe run /bin/false or /bin/true
	Missing  Module = "missing"
)

// moduleOptions has the kernel option of each module that a node may need. Want decides which
// modules it does need.
func moduleOptions() map[string]string {
	return map[string]string{
		"overlay":       "OVERLAY_FS",
		"br_netfilter":  "BRIDGE_NETFILTER",
		"nf_conntrack":  "NF_CONNTRACK",
		"nf_tables":     "NF_TABLES",
		"nft_compat":    "NFT_COMPAT",
		"nft_chain_nat": "NFT_NAT", // nat chains; the module has no separate option
		"nft_nat":       "NFT_NAT",
		"nft_masq":      "NFT_MASQ",
		"xt_comment":    "NETFILTER_XT_MATCH_COMMENT",
		"xt_MASQUERADE": "NETFILTER_XT_TARGET_MASQUERADE",
		// Before Linux 5.2, and so in Enterprise Linux 8, MASQUERADE is in an IPv4 module.
		"ipt_MASQUERADE": "IP_NF_TARGET_MASQUERADE",
		"vxlan":          "VXLAN",
		"ip_set":         "IP_SET",
		"xt_set":         "NETFILTER_XT_SET",
		"nouveau":        "DRM_NOUVEAU", // must not be loaded on a GPU node
	}
}

// moduleTree has the host's information about its modules.
type moduleTree struct {
	builtin, loadable, loaded, blocked map[string]bool
	config                             map[string]string // OVERLAY_FS: y
	known                              bool              // the running kernel's module tree or its configuration was readable
}

func readModules(_ context.Context, r reader, f *Facts) error {
	release, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	tree, err := readModuleTree(r, release)
	if err != nil {
		return err
	}
	f.Modules = map[string]Module{}
	var unknown []string
	for name, option := range moduleOptions() {
		state := tree.find(r, name, option)
		if state == Missing && !tree.known {
			unknown = append(unknown, name)
			continue
		}
		f.Modules[name] = state
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("read /lib/modules/%s and the kernel configuration: both are unreadable; the state of these modules is unknown: %s", release, strings.Join(unknown, ", "))
	}
	return nil
}

// find first checks whether the module is built in or loaded: then it needs no file, and an
// install line does not block it.
func (t moduleTree) find(r reader, name, option string) Module {
	switch {
	case t.builtin[name] || t.config[option] == "y":
		return BuiltIn
	case t.loaded[name] || r.exists("sys/module/"+name):
		return Loaded
	case t.blocked[name]:
		return Blocked
	case t.loadable[name]:
		return Loadable
	default:
		return Missing
	}
}

func readModuleTree(r reader, release string) (moduleTree, error) {
	var t moduleTree
	dir := "lib/modules/" + release
	if !r.exists(dir) {
		dir = "usr/" + dir
	}
	builtin, errBuiltin := r.lines(dir + "/modules.builtin")
	dep, errDep := r.lines(dir + "/modules.dep")
	loaded, err := r.lines("proc/modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without modules has no such file
		return t, err
	}
	t.builtin, t.loadable, t.loaded = moduleNames(builtin), moduleNames(dep), moduleNames(loaded)
	if t.blocked, err = readBlocked(r); err != nil {
		return t, err
	}
	t.config, err = readKernelConfig(r, release)
	t.known = errBuiltin == nil && errDep == nil || len(t.config) > 0
	return t, err
}

// moduleNames reads module names from modules.builtin (one path per line), modules.dep (a path,
// a colon, dependencies) and /proc/modules (the name is first). Compressed modules end in .ko.xz
// or .ko.zst.
func moduleNames(lines []string) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		first, _, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(path.Base(strings.TrimSuffix(first, ":")), ".ko")
		names[moduleName(name)] = true
	}
	return names
}

// moduleName is the kernel's form of the name, with "_". File names may have "-".
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// readBlocked finds the modules that hardening guides disable with `install NAME /bin/false`. A
// blacklist line does not stop modprobe.
func readBlocked(r reader) (map[string]bool, error) {
	blocked := map[string]bool{}
	for _, dir := range []string{"etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d"} {
		names, err := r.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".conf") {
				continue
			}
			lines, err := r.optionalLines(dir + "/" + name) // modprobe also ignores a dangling link
			if err != nil {
				return nil, err
			}
			addBlocked(blocked, lines)
		}
	}
	return blocked, nil
}

func addBlocked(blocked map[string]bool, lines []string) {
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) >= 3 && words[0] == "install" && slices.Contains([]string{"false", "true"}, path.Base(words[2])) {
			blocked[moduleName(words[1])] = true
		}
	}
}

// readKernelConfig reads the running kernel's configuration from the first readable location;
// nil if there is none.
func readKernelConfig(r reader, release string) (map[string]string, error) {
	var text string
	for _, name := range []string{"boot/config-" + release, "lib/modules/" + release + "/config", "usr/lib/modules/" + release + "/config"} {
		// /boot may be readable only by root; another copy is enough.
		if found, err := r.text(name); err == nil {
			text = found
			break
		}
	}
	if text == "" {
		var err error
		if text, err = r.gunzip("proc/config.gz"); err != nil {
			return nil, err
		}
	}
	config := map[string]string{}
	for line := range strings.Lines(text) {
		option, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name, is := strings.CutPrefix(option, "CONFIG_"); ok && is {
			config[name] = value
		}
	}
	return config, nil
}

// gunzip returns the text of a compressed file; "" if it does not exist.
func (r reader) gunzip(name string) (string, error) {
	file, err := r.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	const most = 4 << 20
	data, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(data), nil
}

var kernelModules = Check{
	ID: "kernel-modules", Title: "Required kernel modules are available", Source: "replicatedhq/embedded-cluster and its PR 1888; kops#18724",
	Breaks: "Without these modules there is no overlayfs for images, or no network between pods.",
	Needs:  []string{"modules", "kernel"}, Run: judgeModules,
}

func judgeModules(f *Facts, w *Want) Result {
	var absent, blocked, bundled []string
	for _, alternatives := range neededModules(w) {
		if !f.surveyed(alternatives) {
			continue
		}
		switch f.best(alternatives) {
		case Missing:
			if w.bundlesModule(f.Kernel.Release, alternatives) {
				bundled = append(bundled, strings.Join(alternatives, " or "))
				continue
			}
			absent = append(absent, strings.Join(alternatives, " or "))
		case Blocked:
			blocked = append(blocked, strings.Join(alternatives, " or "))
		}
	}
	var found, fix []string
	if len(absent) > 0 {
		found = append(found, "missing: "+strings.Join(absent, ", "))
		fix = append(fix, "install kernel-modules-extra-"+f.Kernel.Release+" (packages.install of airgap.yaml can add it), or reboot if the kernel was just updated")
	}
	if len(blocked) > 0 {
		found = append(found, "disabled by an install line: "+strings.Join(blocked, ", "))
		fix = append(fix, "remove the install lines of "+strings.Join(blocked, ", ")+" from /etc/modprobe.d")
	}
	if len(found) > 0 {
		return Result{Fail, strings.Join(found, "; "), "loaded, built in or loadable", strings.Join(fix, "; ")}
	}
	if len(bundled) > 0 {
		return pass("all %d modules are available, with kernel-modules-extra of the bundle: %s", len(neededModules(w)), strings.Join(bundled, ", "))
	}
	return pass("all %d modules are available", len(neededModules(w)))
}

// bundlesModule reports whether the bundle's packages have one of the modules. airgap installs
// packages before it loads modules. In Enterprise Linux 10 kernel-modules-extra of the running
// kernel has these modules (kops#18724).
func (w *Want) bundlesModule(kernel string, names []string) bool {
	extra := []string{"br_netfilter", "nft_compat", "xt_comment", "xt_MASQUERADE", "ip_set", "xt_set"}
	return slices.Contains(w.ModulesExtra, kernel) && slices.ContainsFunc(names, func(n string) bool { return slices.Contains(extra, n) })
}

// neededModules lists alternatives: one module of each row is enough.
func neededModules(w *Want) [][]string {
	needed := [][]string{{"overlay"}, {"br_netfilter"}, {"nf_conntrack"}, {"nf_tables"}}
	if w.ProxyMode == "nftables" {
		needed = append(needed, []string{"nft_chain_nat"}, []string{"nft_nat"}, []string{"nft_masq"})
	}
	if w.ProxyMode != "nftables" || w.Network.Iptables {
		needed = append(needed, []string{"nft_compat"}, []string{"xt_comment"}, []string{"xt_MASQUERADE", "ipt_MASQUERADE"})
	}
	if w.Network.IPSets && w.ProxyMode != "nftables" {
		needed = append(needed, []string{"ip_set"}, []string{"xt_set"})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Network.Modules)) {
		needed = append(needed, []string{name})
	}
	return needed
}

// surveyed reports whether the facts have one of the modules: an older survey does not have all.
func (f *Facts) surveyed(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f.Modules[name] != "" })
}

// best is the best state among the modules.
func (f *Facts) best(names []string) Module {
	best := Missing
	for _, name := range names {
		switch state := f.Modules[name]; state {
		case Loaded, BuiltIn, Loadable:
			return state
		case Blocked:
			best = Blocked
		}
	}
	return best
}

var modulesLocked = Check{
	ID: "modules-locked", Title: "Kernel modules can be loaded", Source: "sysctl kernel.modules_disabled",
	Breaks: "A module that is not loaded yet cannot be loaded before the next reboot: pods would have no network.",
	Needs:  []string{"sysctls", "modules"}, Run: judgeModulesLocked,
}

func judgeModulesLocked(f *Facts, w *Want) Result {
	if f.sysctl("kernel.modules_disabled").Value != "1" {
		return pass("not locked")
	}
	var later []string
	for _, alternatives := range neededModules(w) {
		if f.best(alternatives) == Loadable {
			later = append(later, alternatives[0])
		}
	}
	if len(later) == 0 {
		return pass("locked, but all required modules are loaded or built in")
	}
	return Result{Fail, "locked, and not loaded yet: " + strings.Join(later, ", "), "kernel.modules_disabled = 0",
		"add these modules to /etc/modules-load.d, remove the sysctl, and reboot"}
}
