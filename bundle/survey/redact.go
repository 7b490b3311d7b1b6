package survey

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight/facts"
)

// Redacted is the reason of facts that Redact left out.
const Redacted = "left out by airgap survey --redact"

// leftOut are the facts that name hosts, addresses, users, disks or the rules of the site's
// network, by the names of facts.Unknown. The bundle does not need them, and preflight reads
// them on the server.
func leftOut() []string {
	return []string{
		"bootSwap", "bootCommands", "bootSELinux", "bootHostname", "bootModules", "blocked", "modulesLoad", "identity", "timeServers", "targets", "bootMounts", "directories",
		"multipath", "diskErrors", "routes", "rules", "vrfs", "listening", "resolv", "hosts", "filtering", "dropChains", "proxies", "audit", "accounts", "unitFiles",
		"fileScans", "packetRules", "savedRules", "certificates", "dhcp",
	}
}

// Redact returns facts that may leave the site: without host names, addresses, serial numbers
// and users. as is the name of the server in them. It copies the fields that are known to be
// safe, so a new field is left out until it is added here.
func Redact(f *facts.Facts, as string) (*facts.Facts, error) {
	safe := facts.Facts{
		Schema: f.Schema, Unknown: f.Unknown, OS: f.OS, Kernel: f.Kernel, KernelOptions: f.KernelOptions, KernelFeatures: f.KernelFeatures, SecureBoot: f.SecureBoot, Modules: f.Modules,
		Init: f.Init, Systemd: f.Systemd, Manager: facts.Manager{OpenFiles: f.Manager.OpenFiles}, Cgroup: f.Cgroup, CPUs: f.CPUs, CPULevel: f.CPULevel,
		Memory: f.Memory, HugePages: f.HugePages, Firmware: f.Firmware, Time: facts.Time{Now: f.Time.Now, Synchronized: f.Time.Synchronized, Zone: f.Time.Zone},
		ProcMount: f.ProcMount, XFS: f.XFS, Agents: f.Agents, Iptables: f.Iptables, Sysctls: f.Sysctls, Tuned: f.Tuned, Security: f.Security, Crypto: f.Crypto.Anonymous(), Umask: f.Umask,
		USBBlocked: f.USBBlocked, Units: f.Units, Programs: f.Programs, Runtimes: f.Runtimes, Leftovers: f.Leftovers, PCI: f.PCI, Driver: f.Driver,
		Xids: f.Xids, Runfile: f.Runfile, Tools: f.Tools, Frozen: f.Frozen, Media: f.Media, DNFVariables: safeVariables(f.DNFVariables),
	}
	safe.Kernel.Cmdline = safeArguments(f.Kernel.Cmdline)
	for _, s := range f.Swap {
		safe.Swap = append(safe.Swap, facts.SwapArea{Path: "swap", Size: s.Size})
	}
	for _, fs := range f.Filesystems {
		fs.Source, fs.Disk = "", ""
		safe.Filesystems = append(safe.Filesystems, fs)
	}
	for _, l := range f.Links {
		safe.Links = append(safe.Links, facts.Link{Name: l.Name, MTU: l.MTU, Up: l.Up, Master: l.Master})
	}
	if f.NVML != nil {
		report := *f.NVML
		report.GPUs = slices.Clone(report.GPUs)
		for i := range report.GPUs {
			report.GPUs[i].UUID, report.GPUs[i].Serial, report.GPUs[i].MIG = "", "", nil
		}
		safe.NVML = &report
	}
	safe.Unknown = append(slices.Clone(f.Unknown), hiddenVariables(f.DNFVariables, safe.DNFVariables)...)
	clean, err := scrub(&safe, identifying(f))
	if err != nil {
		return nil, fmt.Errorf("redact facts of %s: %w", f.Host, err)
	}
	// The versions of packages look like addresses, so they come after the search.
	clean.Packages, clean.OddPackages, clean.InstalledByAirgap, clean.Streams = f.Packages, f.OddPackages, f.InstalledByAirgap, f.Streams
	clean.Host, clean.Surveyed = as, f.Surveyed
	clean.Unknown = slices.DeleteFunc(clean.Unknown, func(u facts.Unknown) bool { return slices.Contains(leftOut(), u.Fact) })
	for _, name := range leftOut() {
		clean.Unknown = append(clean.Unknown, facts.Unknown{Fact: name, Reason: Redacted})
	}
	return clean, nil
}

// safeArguments are the kernel arguments that checks use. Others can name disks and addresses.
func safeArguments(cmdline string) string {
	known := []string{"systemd.unified_cgroup_hierarchy", "cgroup_no_v1", "cgroup_disable", "ipv6.disable", "fips", "selinux", "enforcing", "mitigations", "iommu",
		"intel_iommu", "amd_iommu", "rd.driver.blacklist", "modprobe.blacklist", "nouveau.modeset", "hugepages", "hugepagesz", "default_hugepagesz", "audit",
		"crashkernel", "lockdown", "module.sig_enforce", "psi", "transparent_hugepage", "nomodeset", "nousb", "user_namespace.enable", "namespace.unpriv_enable"}
	return strings.Join(slices.DeleteFunc(strings.Fields(cmdline), func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return !slices.Contains(known, name)
	}), " ")
}

// safeVariables are the variables that a distribution sets for its own repositories. Others can name mirrors of the site.
func safeVariables(of map[string]string) map[string]string {
	var safe map[string]string
	for _, name := range []string{"contentdir", "infra", "releasever", "rltype", "stream"} {
		if value, is := of[name]; is {
			if safe == nil {
				safe = map[string]string{}
			}
			safe[name] = value
		}
	}
	return safe
}

// hiddenVariables are the variables that are not in safe: an address with one of them cannot be resolved.
func hiddenVariables(of, safe map[string]string) (all []facts.Unknown) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if _, is := safe[name]; !is {
			all = append(all, facts.UnknownVariable(name, Redacted))
		}
	}
	return all
}

// identifying are names of the host, of other hosts, of its domains and of users.
func identifying(f *facts.Facts) []string {
	var all []string
	add := func(names ...string) {
		for _, n := range names {
			short, _, _ := strings.Cut(n, ".")
			if ignored := []string{"localhost", "localdomain", "root", "ip6-localhost", "ip6-loopback"}; len(short) > 2 && !slices.Contains(ignored, short) {
				all = append(all, n, short)
			}
		}
	}
	add(f.Host)
	add(f.Resolv.Search...)
	for _, h := range f.Hosts {
		add(h.Names...)
	}
	for _, a := range f.Accounts {
		add(a.Name)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a whole name before its parts
	return slices.Compact(all)
}

// addresses matches IPv4 and MAC addresses, UUIDs, machine IDs, mail addresses and homes.
var addresses = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(/\d{1,2})?\b|\b[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}\b|` +
	`\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b|\b[0-9a-f]{32}\b|\b([0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{0,4}\b|/home/[^/\s"']+`)

const hidden = "REDACTED"

// scrub replaces identifying text in all fields.
func scrub(f *facts.Facts, names []string) (*facts.Facts, error) {
	var tree yaml.Node
	if err := tree.Encode(f); err != nil {
		return nil, err
	}
	var words *regexp.Regexp
	if len(names) > 0 {
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = regexp.QuoteMeta(n)
		}
		words = regexp.MustCompile(`(?i)\b(` + strings.Join(quoted, "|") + `)\b`)
	}
	scrubNode(&tree, words)
	clean := new(facts.Facts)
	return clean, tree.Decode(clean)
}

// scrubNode changes the values, and not the keys, which are names of fields and options.
func scrubNode(n *yaml.Node, words *regexp.Regexp) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Value = addresses.ReplaceAllString(n.Value, hidden)
		if words != nil {
			n.Value = words.ReplaceAllString(n.Value, hidden)
		}
	}
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			scrubNode(child, words)
		}
	}
}

// alias is the name of the server in redacted facts.
func (o Options) alias() (string, error) {
	name := o.As
	if name == "" && o.File != "" {
		name = strings.TrimSuffix(filepath.Base(o.File), ".facts.yaml")
	}
	if name == "" {
		return "", advice.Usage(errors.New("airgap survey: --redact requires --as NAME, or --file NAME.facts.yaml: NAME is the node in airgap.yaml"))
	}
	return name, nil
}
