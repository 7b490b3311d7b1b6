package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
)

// gpuPlans decides what the cards of each node with the role gpu take, by its
// facts. What cannot work is a clash: the cards decide, so they have to be known.
func gpuPlans(c *config.Cluster, surveyed []*preflight.Facts, now time.Time) (map[string]gpu.Plan, []clash) {
	plans := map[string]gpu.Plan{}
	var clashes []clash
	for _, n := range c.GPUNodes() {
		i := slices.IndexFunc(surveyed, func(f *preflight.Facts) bool { return f.Host == n.Name })
		if i < 0 {
			clashes = append(clashes, clash{
				of: n.Name, found: "it has the role gpu, and nobody knows its cards and its kernel", want: "its facts",
				fix: "run airgap survey on it and give the file's directory with --facts" + strangers(c, surveyed), fatal: true,
			})
			continue
		}
		if gaps := unreadForDriver(c, surveyed[i]); len(gaps) > 0 {
			clashes = append(clashes, gaps...)
			continue
		}
		plan, err := c.GPU.Plan(gpuServer(surveyed[i]))
		if errors.Is(err, gpu.ErrNoCard) {
			continue // a check says so
		}
		if err != nil {
			clashes = append(clashes, clash{of: n.Name, found: err.Error(), fix: "change the section gpu, or take the role gpu from it", fatal: true})
			continue
		}
		clashes = append(clashes, branchDoubts(c.GPU, plan, surveyed[i], now)...)
		clashes = append(clashes, inTheWay(plan, surveyed[i])...)
		if c.GPU.Source != gpu.Site && !locks(c, surveyed[i]) {
			clashes = append(clashes, clash{
				of: n.Name, found: "it has no " + lockPlugin + ", without which dnf may update kernel and driver apart from each other", want: "both locked",
				fix: "add " + lockPlugin + " to packages.install: the installation locks them where it is",
			})
		}
		plans[n.Name] = plan
	}
	return plans, clashes
}

// branchDoubts are what speaks against the branch of a host's driver, without ruling it out.
func branchDoubts(c gpu.Config, p gpu.Plan, f *preflight.Facts, now time.Time) []clash {
	if c.Source == gpu.Site {
		return nil
	}
	clashes := unknownCards(c, p, f)
	switch end := gpu.Ended(p.Choice.Branch, now); {
	case end != "":
		clashes = append(clashes, clash{of: f.Host, found: fmt.Sprintf("driver %s has had no fixes since %s", p.Choice, end), want: "a branch that has", source: "gpu.branch"})
	case !gpu.Listed(p.Choice.Branch):
		clashes = append(clashes, clash{of: f.Host, found: fmt.Sprintf("driver %s is of a branch that NVIDIA lists no more", p.Choice), want: "a branch that has fixes", source: "gpu.branch"})
	}
	return clashes
}

// unknownCards tells each sort of card that the table does not have, and what it was taken
// for: a newer one may want a newer driver. Who names a branch, or an installer, knows.
func unknownCards(c gpu.Config, p gpu.Plan, f *preflight.Facts) []clash {
	if c.Branch != 0 || c.Source == gpu.Runfile {
		return nil
	}
	var clashes []clash
	for _, d := range gpu.Detect(f.PCI) {
		a := d.TakenFor()
		if a == "" || d.Reserved() != "" {
			continue
		}
		x := clash{
			of: f.Host, found: fmt.Sprintf("%s is in no table, and by its number it is taken for %s: it gets driver %s", d, a, p.Choice),
			fix: "if NVIDIA names another branch for it, set gpu.branch",
		}
		if !slices.Contains(clashes, x) {
			clashes = append(clashes, x)
		}
	}
	return clashes
}

// strangers are what there are facts of, and no node by that name: a driver is chosen for a
// node's very host name, by which the server looks for it.
func strangers(c *config.Cluster, surveyed []*preflight.Facts) string {
	var names []string
	for _, f := range surveyed {
		if _, err := c.Node(f.Host); err != nil {
			names = append(names, f.Host)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; there are facts of %s, which is no node: the host name has to be nodes[].name", strings.Join(names, ", "))
}

// inTheWay are packages of an earlier driver, which airgap brought, that the plan's would
// have to push out: they do not go by the same name, and nothing is erased for a package.
func inTheWay(p gpu.Plan, f *preflight.Facts) []clash {
	var clashes []clash
	for _, family := range [][]string{{"kmod-nvidia-open-dkms", "kmod-nvidia-latest-dkms"}, {"nvidia-fabricmanager", "nvidia-fabric-manager"}} {
		for _, n := range f.InstalledByAirgap {
			there := slices.ContainsFunc(f.Packages, func(p preflight.Package) bool { return p.Name == n.Name }) // somebody may have erased it since
			if !there || !slices.Contains(family, n.Name) || slices.Contains(p.Driver, n.Name) {
				continue
			}
			i := slices.IndexFunc(p.Driver, func(name string) bool { return slices.Contains(family, name) })
			if i < 0 {
				continue
			}
			clashes = append(clashes, clash{
				of: f.Host, found: fmt.Sprintf("an earlier bundle has brought %s, in whose place %s cannot come by itself", n.Name, p.Driver[i]), want: "the same package, or none",
				fix: fmt.Sprintf("on that host dnf remove %s, reboot, and survey it again; or let the section gpu keep to what is there", n.Name), fatal: true,
			})
		}
	}
	return clashes
}

// lockPlugin has dnf's plugin versionlock on EL 8, 9 and 10, in BaseOS.
const lockPlugin = "python3-dnf-plugin-versionlock"

// locks tells whether the host has the plugin, or gets it: by that name, with a version
// behind it, or as dnf-command(versionlock).
func locks(c *config.Cluster, f *preflight.Facts) bool {
	asked := func(spec string) bool { return strings.Contains(spec, "versionlock") }
	return slices.ContainsFunc(c.Packages.Install, asked) || slices.ContainsFunc(f.Packages, func(p preflight.Package) bool { return p.Name == lockPlugin })
}

// unreadForDriver are the facts without which nobody can choose a driver, and that the
// survey could not read: a bundle without a driver would be a lost trip.
func unreadForDriver(c *config.Cluster, f *preflight.Facts) []clash {
	if c.GPU.Source == gpu.Site {
		return nil
	}
	var gaps []clash
	for _, need := range []struct{ fact, called string }{{"pci", "PCI tree"}, {"kernel", "kernel"}, {"packages", "installed packages"}} {
		for _, reason := range f.Why(need.fact) {
			gaps = append(gaps, clash{
				of: f.Host, found: fmt.Sprintf("it has the role gpu, and its survey could not read its %s: %s", need.called, reason), want: "it known, since it decides the driver",
				fix: "mend that and run airgap survey on it again, as root; or set gpu.source to host, where the driver is the site's own", fatal: true,
			})
		}
	}
	return gaps
}

func gpuServer(f *preflight.Facts) gpu.Server {
	return gpu.Server{OS: f.OS.Enterprise(), Kernels: kernelsOf(f), Core: f.NewestOf("kernel-core"), Compiler: gpu.Compiler(f.Kernel.Built), Devices: gpu.Detect(f.PCI)}
}

// kernelsOf are the running kernel and the one that the host boots next.
func kernelsOf(f *preflight.Facts) []string {
	if f.Kernel.Release == "" {
		return nil
	}
	if next := f.NextKernel(); next != "" && next != f.Kernel.Release {
		return []string{f.Kernel.Release, next}
	}
	return []string{f.Kernel.Release}
}

// driverPackages are what nodes with cards get beside the others.
func driverPackages(c *config.Cluster, plans map[string]gpu.Plan) map[string]rpm.Extra {
	only := map[string]rpm.Extra{}
	for host, p := range plans {
		only[host] = rpm.Extra{By: bundle.GPUList, Install: p.Packages, Together: p.Driver, Version: c.GPU.Version(p)}
	}
	return only
}

// gpuFiles is NVIDIA's installer, where the driver comes by it.
func gpuFiles(c *config.Cluster) []bundle.FileNeed {
	if c.GPU.Source != gpu.Runfile || len(c.GPUNodes()) == 0 {
		return nil
	}
	return []bundle.FileNeed{{Name: c.GPU.InstallerFile(), URL: c.GPU.Installer.URL, SHA256: c.GPU.Installer.SHA256, NeededBy: bundle.GPUList}}
}
