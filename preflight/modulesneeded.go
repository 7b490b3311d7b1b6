package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var kernelModules = Check{
	ID: "kernel-modules", Title: "Required kernel modules are available", Source: "replicatedhq/embedded-cluster and its PR 1888; kops#18724; modprobe.d(5)",
	Breaks: "Without these modules there is no overlayfs for images, or no network between pods.",
	Needs:  []string{"modules", "kernel", "nextKernel", "bootModules", "blocked", "units"}, Run: judgeModules,
}

// moduleFaults are the required modules that a kernel cannot load, by the reason.
type moduleFaults struct {
	kernel                   string // release
	missing, blocked, bundle []string
	blockers                 []string // lines and parameters
}

func judgeModules(f *facts.Facts, w *Want) Result {
	release := f.Kernel.Release
	now := w.moduleFaults(release, func(name string) (facts.Module, string) { return moduleNow(f, name) })
	if len(f.Boot.Modules) > 0 {
		release = f.Boot.Entry.Release
	}
	next := w.moduleFaults(release, func(name string) (facts.Module, string) { return moduleNext(f, name) })
	var found, fix []string
	now.report("", "reboot if the kernel was just updated", &found, &fix)
	if !next.same(now) {
		next.report("at the next boot", "run grubby --set-default=/boot/vmlinuz-"+f.Kernel.Release+" to keep the running kernel", &found, &fix)
	}
	if f.Unit("systemd-modules-load.service").Enabled == "masked" {
		found, fix = append(found, "systemd-modules-load.service is masked: the next boot loads no module of a file"), append(fix, "run systemctl unmask systemd-modules-load")
	}
	if unlisted := unlistedModules(f, w); len(unlisted) > 0 {
		found, fix = append(found, "no file in modules-load.d loads at the next boot: "+strings.Join(unlisted, ", ")), append(fix, "write these modules to /etc/modules-load.d/airgap.conf, one per line; or run the same airgap install or airgap join again")
	}
	if len(found) > 0 {
		return Result{Fail, strings.Join(found, "; "), "loaded, built in or loadable, now and at the next boot", strings.Join(slices.Compact(fix), "; ")}
	}
	if bundled := slices.Compact(slices.Concat(now.bundle, next.bundle)); len(bundled) > 0 {
		return pass("all %d modules are available, with kernel-modules-extra of the bundle: %s", len(neededModules(w)), strings.Join(bundled, ", "))
	}
	return pass("all %d modules are available", len(neededModules(w)))
}

// unlistedModules are the modules of airgap's file that the next boot does not load. A mask of
// systemd-modules-load has its own line.
func unlistedModules(f *facts.Facts, w *Want) []string {
	if f.Unit("systemd-modules-load.service").Enabled == "masked" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.LoadedAtBoot), func(name string) bool { return facts.LoadedAtBoot(f, name) })
}

// moduleFaults judges a kernel, of which state returns the state of a module, and why it is
// blocked. One module of each row is enough.
func (w *Want) moduleFaults(release string, state func(string) (facts.Module, string)) moduleFaults {
	faults := moduleFaults{kernel: release}
	for _, alternatives := range neededModules(w) {
		best, by := facts.Missing, ""
		for _, name := range alternatives {
			if is, why := state(name); is != facts.Missing && best != facts.Loadable {
				best, by = is, why
			}
			if best != facts.Missing && best != facts.Blocked {
				best, by = facts.Loadable, ""
			}
		}
		switch name := strings.Join(alternatives, " or "); {
		case best == facts.Blocked:
			faults.blocked, faults.blockers = append(faults.blocked, name), append(faults.blockers, by)
		case best == facts.Missing && w.bundlesModule(release, alternatives):
			faults.bundle = append(faults.bundle, name)
		case best == facts.Missing:
			faults.missing = append(faults.missing, name)
		}
	}
	return faults
}

// moduleNow is the state of a module that install loads by its name.
func moduleNow(f *facts.Facts, name string) (facts.Module, string) {
	switch state := f.Modules[name]; state {
	case "":
		return facts.Missing, ""
	case facts.Blocked:
		return facts.Blocked, cmp.Or(blocker(f, name, false), "an install line")
	case facts.Loadable:
		if by := nextboot.Refuses(f.Kernel.Cmdline, name, "module_blacklist"); by != "" {
			return facts.Blocked, by + " on the kernel command line"
		}
		return facts.Loadable, ""
	default:
		return state, ""
	}
}

// moduleNext is the state of a module that systemd or the kernel loads at the next boot. Without a
// boot loader entry the running kernel is the next one.
func moduleNext(f *facts.Facts, name string) (facts.Module, string) {
	states := f.Boot.Modules
	if len(states) == 0 {
		states = f.Modules
	}
	switch state := states[name]; state {
	case "", facts.Missing:
		return facts.Missing, ""
	case facts.BuiltIn:
		return facts.BuiltIn, ""
	case facts.Blocked:
		return facts.Blocked, cmp.Or(blocker(f, name, true), "an install line")
	}
	if by := blocker(f, name, true); by != "" {
		return facts.Blocked, by
	}
	cmdline, from := f.NextCmdline()
	if by := nextboot.Refuses(cmdline, name, "module_blacklist", "modprobe.blacklist"); by != "" {
		return facts.Blocked, by + " in " + from
	}
	return facts.Loadable, ""
}

// blocker is the line of modprobe's configuration that keeps a module from being loaded, with or
// without those that apply only at boot; "" without one.
func blocker(f *facts.Facts, name string, boot bool) string {
	for _, b := range f.Boot.Blocked {
		if b.Module == name && (boot || b.By != nextboot.ByBlacklist) {
			return fmt.Sprintf("%q in %s", b.By+" "+b.Module, b.Place)
		}
	}
	return ""
}

// same reports whether the faults are those of the running kernel.
func (m moduleFaults) same(now moduleFaults) bool {
	return m.kernel == now.kernel && slices.Equal(m.missing, now.missing) && slices.Equal(m.blocked, now.blocked)
}

func (m moduleFaults) report(when, otherwise string, found, fix *[]string) {
	kernel := ""
	if when != "" {
		when, kernel = when+", ", " in "+m.kernel
	}
	if len(m.missing) > 0 {
		*found = append(*found, when+"missing"+kernel+": "+strings.Join(m.missing, ", "))
		*fix = append(*fix, "install kernel-modules-extra-"+m.kernel+" (packages.install of airgap.yaml can add it), or "+otherwise)
	}
	if len(m.blocked) > 0 {
		*found = append(*found, when+"disabled by "+strings.Join(slices.Compact(m.blockers), ", ")+": "+strings.Join(m.blocked, ", "))
		*fix = append(*fix, "remove what disables "+strings.Join(m.blocked, ", ")+": the lines in modprobe.d, and the parameters with grubby --update-kernel=ALL --remove-args=")
	}
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

var modulesLocked = Check{
	ID: "modules-locked", Title: "Kernel modules can be loaded", Source: "sysctl kernel.modules_disabled",
	Breaks: "A module that is not loaded yet cannot be loaded before the next reboot: pods would have no network.",
	Needs:  []string{"sysctls", "modules", "modulesLoad", "bootModules", "nextKernel", "units"}, Run: judgeModulesLocked,
}

// judgeModulesLocked judges the lock of now and the one of the next boot. systemd loads the modules in
// /etc/modules-load.d before it sets kernel parameters, and install writes only some of them there. A
// module that is merely loaded now is not loaded at the next boot.
func judgeModulesLocked(f *facts.Facts, w *Want) Result {
	s := f.Sysctl(facts.LockedParameter)
	const want = "kernel.modules_disabled = 0"
	var now, later []string
	for _, alternatives := range neededModules(w) {
		if f.BestModule(alternatives) == facts.Loadable {
			now = append(now, alternatives[0])
		}
		if f.BestModule(alternatives).Known() && !slices.ContainsFunc(alternatives, func(name string) bool { return facts.LoadedAtBoot(f, name) }) {
			later = append(later, alternatives[0])
		}
	}
	switch {
	case s.Value == "1" && len(now) > 0:
		return Result{Fail, "locked, and not loaded yet: " + strings.Join(now, ", "), want,
			"add these modules to /etc/modules-load.d, remove the sysctl, and reboot"}
	case s.Value == "1" && len(later) > 0:
		return Result{Fail, "locked; loaded now, and no file loads them at the next boot: " + strings.Join(later, ", "), want,
			"write these modules to a file in /etc/modules-load.d, one per line"}
	case s.Value == "1":
		return pass("locked, but all required modules are loaded or built in, now and at the next boot")
	case s.Boot != "1":
		return pass("not locked")
	case len(later) == 0:
		return pass("not locked now, %s at every boot; all required modules are built in or in modules-load.d", s.Setting())
	}
	return Result{Fail, "not locked now, but " + s.Setting() + " at every boot: the kernel then refuses " + strings.Join(later, ", "), want,
		"remove the line from " + s.File + "; or write these modules to a file in /etc/modules-load.d, one per line"}
}
