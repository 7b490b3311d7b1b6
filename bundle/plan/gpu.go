package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/preflight/facts"
)

// gpuPlans selects the driver of each node with the role gpu from its facts. Missing
// facts are an error, because the GPUs determine the driver.
func gpuPlans(c *config.Cluster, surveyed []*facts.Facts, now time.Time) (map[string]gpu.Plan, []incompatibility) {
	plans := map[string]gpu.Plan{}
	var problems []incompatibility
	for _, n := range c.GPUNodes() {
		i := slices.IndexFunc(surveyed, func(f *facts.Facts) bool { return f.Host == n.Name })
		if i < 0 {
			problems = append(problems, incompatibility{
				of: n.Name, found: "it has the role gpu, but its GPUs and its kernel are not known", want: "its facts",
				fix: "run airgap survey on this host, and pass the directory of the file with --facts" + otherHosts(c, surveyed), fatal: true,
			})
			continue
		}
		if gaps := unreadForDriver(c, surveyed[i]); len(gaps) > 0 {
			problems = append(problems, gaps...)
			continue
		}
		plan, err := c.GPU.Plan(gpuServer(surveyed[i]))
		if errors.Is(err, gpu.ErrNoGPU) {
			continue // a check reports it
		}
		if err != nil {
			problems = append(problems, incompatibility{of: n.Name, found: err.Error(), fix: "change the section gpu, or remove the role gpu from this node", fatal: true})
			continue
		}
		problems = append(problems, branchWarnings(c.GPU, plan, surveyed[i], now)...)
		problems = append(problems, blockingPackages(plan, surveyed[i])...)
		plans[n.Name] = plan
	}
	return plans, problems
}

// branchWarnings returns warnings about the branch of a host's driver.
func branchWarnings(c gpu.Config, p gpu.Plan, f *facts.Facts, now time.Time) []incompatibility {
	if c.Source == gpu.Site {
		return nil
	}
	problems := unknownGPUs(c, p, f)
	switch end := gpu.EndOfSupport(p.Choice.Branch, now); {
	case end != "":
		problems = append(problems, incompatibility{of: f.Host, found: fmt.Sprintf("driver %s has received no fixes since %s", p.Choice, end), want: "a branch with fixes", source: "gpu.branch"})
	case !gpu.Listed(p.Choice.Branch):
		problems = append(problems, incompatibility{of: f.Host, found: fmt.Sprintf("driver %s is from a branch that NVIDIA no longer lists", p.Choice), want: "a branch with fixes", source: "gpu.branch"})
	}
	return problems
}

// unknownGPUs returns a warning for each model of GPU that is not in the table, with the
// assumed generation: a newer GPU may need a newer driver. A branch or an installer in
// airgap.yaml is the user's decision and needs no warning.
func unknownGPUs(c gpu.Config, p gpu.Plan, f *facts.Facts) []incompatibility {
	if c.Branch != 0 || c.Source == gpu.Runfile {
		return nil
	}
	var problems []incompatibility
	for _, d := range gpu.Detect(f.PCI) {
		a := d.AssumedArchitecture()
		if a == "" || d.Reserved() != "" {
			continue
		}
		x := incompatibility{
			of: f.Host, found: fmt.Sprintf("%s is not in the GPU table; from its device ID airgap assumes %s and selects driver %s", d, a, p.Choice),
			fix: "if NVIDIA requires another branch for it, set gpu.branch",
		}
		if !slices.Contains(problems, x) {
			problems = append(problems, x)
		}
	}
	return problems
}

// otherHosts returns a note about facts of hosts that are not nodes: the server searches its
// driver by its host name, so the facts must have exactly this name.
func otherHosts(c *config.Cluster, surveyed []*facts.Facts) string {
	var names []string
	for _, f := range surveyed {
		if _, err := c.Node(f.Host); err != nil {
			names = append(names, f.Host)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; --facts has %s, which is not a node: the host name must be equal to nodes[].name", hostrange.Join(names))
}

// blockingPackages returns packages of an earlier driver from airgap that the planned driver
// would have to replace: their names differ, and airgap erases no package for another.
func blockingPackages(p gpu.Plan, f *facts.Facts) []incompatibility {
	var problems []incompatibility
	for _, family := range [][]string{{"kmod-nvidia-open-dkms", "kmod-nvidia-latest-dkms"}, {"nvidia-fabricmanager", "nvidia-fabric-manager"}} {
		for _, n := range f.InstalledByAirgap {
			installed := slices.ContainsFunc(f.Packages, func(p facts.Package) bool { return p.Name == n.Name }) // the operator may have erased it
			if !installed || !slices.Contains(family, n.Name) || slices.Contains(p.Driver, n.Name) {
				continue
			}
			i := slices.IndexFunc(p.Driver, func(name string) bool { return slices.Contains(family, name) })
			if i < 0 {
				continue
			}
			problems = append(problems, incompatibility{
				of: f.Host, found: fmt.Sprintf("an earlier bundle has installed %s, which %s cannot replace", n.Name, p.Driver[i]), want: "the same package, or none",
				fix: fmt.Sprintf("on this host run dnf remove %s, reboot, and run airgap survey again; or change the section gpu so that it selects the installed package", n.Name), fatal: true,
			})
		}
	}
	return problems
}

// lockPlugin is the package of dnf's plugin versionlock on EL 8, 9 and 10, in BaseOS. Every node gets it: without it,
// the next dnf update can replace the kubelet.
const lockPlugin = "python3-dnf-plugin-versionlock"

// unreadForDriver returns the facts that the selection of a driver needs and that the survey
// could not read. Without this check the bundle would have no driver.
func unreadForDriver(c *config.Cluster, f *facts.Facts) []incompatibility {
	if c.GPU.Source == gpu.Site {
		return nil
	}
	var gaps []incompatibility
	for _, need := range []struct{ fact, called string }{{"pci", "PCI tree"}, {"kernel", "kernel"}, {"packages", "installed packages"}} {
		for _, reason := range f.Why(need.fact) {
			gaps = append(gaps, incompatibility{
				of: f.Host, found: fmt.Sprintf("it has the role gpu, but the survey could not read its %s: %s", need.called, reason), want: "a survey with this fact, which determines the driver",
				fix: "fix the cause, and run airgap survey as root on this host again; or set gpu.source to host if you install the driver yourself", fatal: true,
			})
		}
	}
	return gaps
}

func gpuServer(f *facts.Facts) gpu.Server {
	return gpu.Server{OS: f.OS.Enterprise(), Kernels: kernelsOf(f), Core: f.NewestOf("kernel-core"), Compiler: gpu.Compiler(f.Kernel.Built), Devices: gpu.Detect(f.PCI)}
}

// kernelsOf returns the running kernel and the kernel of the next boot.
func kernelsOf(f *facts.Facts) []string {
	if f.Kernel.Release == "" {
		return nil
	}
	if next := f.NextKernel(); next != "" && next != f.Kernel.Release {
		return []string{f.Kernel.Release, next}
	}
	return []string{f.Kernel.Release}
}

// driverPackages returns the additional packages of nodes with GPUs.
func driverPackages(c *config.Cluster, plans map[string]gpu.Plan) map[string]rpm.Extra {
	only := map[string]rpm.Extra{}
	for host, p := range plans {
		only[host] = rpm.Extra{By: bundle.GPUList, Install: p.Packages, Together: p.Driver, Version: c.GPU.Version(p)}
	}
	return only
}

// gpuFiles returns NVIDIA's installer if it installs the driver.
func gpuFiles(c *config.Cluster) []bundle.FileNeed {
	if c.GPU.Source != gpu.Runfile || len(c.GPUNodes()) == 0 {
		return nil
	}
	return []bundle.FileNeed{{Name: c.GPU.InstallerFile(), URL: c.GPU.Installer.URL, SHA256: c.GPU.Installer.SHA256, NeededBy: bundle.GPUList}}
}
