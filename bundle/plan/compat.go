package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight"
)

// clash is what cannot work together, or what nobody supports together.
type clash struct {
	check  string // of preflight; "" for what airgap.yaml alone tells
	of     string // "airgap.yaml", or a surveyed server
	found  string
	want   string
	source string // "" where found names it
	fix    string
	fatal  bool
}

// checkCompatibility decides what the cards of GPU nodes take. It refuses what
// cannot work, by the table of bundle --matrix too, all of it at once, before
// anything is asked of upstream. What nobody supports is only said.
func checkCompatibility(c *config.Cluster, surveyed []*preflight.Facts, now time.Time, p ui.Progress) (cards map[string]gpu.Plan, err error) {
	cards, clashes := gpuPlans(c, surveyed, now)
	more, err := clashesOf(c, surveyed, cards, now)
	if err != nil {
		return nil, err
	}
	return cards, tellClashes(append(clashes, more...), "airgap bundle --matrix shows what goes together, and by whom that is said", p)
}

// tellClashes prints warnings, and returns one error with all combinations that
// cannot work, with a hint.
func tellClashes(all []clash, hint string, p ui.Progress) error {
	var fatal []string
	for _, x := range together(all) {
		if x.fatal {
			fatal = append(fatal, x.String())
		} else {
			p.Say("warning: %s", x)
		}
	}
	if len(fatal) == 0 {
		return nil
	}
	return advice.Add(advice.Usage(fmt.Errorf("%s that cannot work\n%s", ui.Count(len(fatal), "combination"), strings.Join(fatal, "\n"))), "%s", hint)
}

// together tells once what is said of several servers: "db1, db2: v1, want v2".
func together(all []clash) []clash {
	var some []clash
	for _, x := range all {
		same := func(y clash) bool { y.of = x.of; return x == y }
		if i := slices.IndexFunc(some, same); i >= 0 {
			some[i].of += ", " + x.of
			continue
		}
		some = append(some, x)
	}
	return some
}

func (x clash) String() string {
	text := x.of + ": " + x.found
	if x.want != "" { // "" where it could not be told
		text += ", want " + x.want
	}
	if x.source != "" {
		text += " (" + x.source + ")"
	}
	if x.fix != "" {
		text += "; " + x.fix
	}
	return text
}

func clashesOf(c *config.Cluster, surveyed []*preflight.Facts, cards map[string]gpu.Plan, now time.Time) ([]clash, error) {
	var all []clash
	for _, k := range kubeadm.Conflicts(c.Kubernetes, c.Runtime, now) {
		all = append(all, clash{of: "airgap.yaml", found: k.Found, want: k.Want, source: k.Source, fatal: k.Fatal})
	}
	if f, known := preflight.Assumed(c.Packages.OS); known && len(surveyed) == 0 {
		some, err := hostClashes(c, f, gpu.Plan{})
		return append(all, assumed(some)...), err
	}
	for _, f := range surveyed {
		some, err := hostClashes(c, f, cards[f.Host])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// assumed are clashes of a server that nobody has looked at. How it boots may have
// been changed, so that is only said; its kernel is taken for the system's.
func assumed(all []clash) []clash {
	for i := range all {
		all[i].of += " (assumed: no --facts)"
		all[i].fatal = all[i].fatal && all[i].check != "cgroup-version"
	}
	return all
}

// hostChecks are the preflight checks that the bundle's choices can fail: what
// they ask of a host is not changed by an installation.
func hostChecks() []string {
	return []string{"os-supported", "kernel-version", "cgroup-version", "gpu-present", "gpu-driver", "gpu-foreign", "secure-boot", "fapolicyd"}
}

// hostClashes lets preflight judge the survey, with the site's settings, as it
// will judge the host.
func hostClashes(c *config.Cluster, f *preflight.Facts, cards gpu.Plan) ([]clash, error) {
	want := preflight.Want{
		OS: c.Packages.OS, KubernetesVersion: c.Kubernetes.Version, Site: c.Preflight, AllowCgroupV1: c.Kubernetes.AllowsCgroupV1(),
		ProxyMode: c.Kubernetes.ProxyMode(runtime.Facts{OS: f.OS.Enterprise(), Kernel: f.Kernel.Release}),
		Network:   cni.NeedsOf(c.Network), Roles: c.PreflightRoles(f.Host),
		Packages: slices.Concat(cards.Driver, cards.Packages), Installer: c.GPU.Source == gpu.Runfile,
	}
	seen := preflight.GPUs(gpu.Look(f.PCI, f.Driver))
	judged := *f
	judged.Asked.GPUs = &seen
	var all []clash
	for _, id := range hostChecks() {
		r, err := preflight.RunOne(id, &judged, want, nil)
		if err != nil {
			return nil, err
		}
		if r.Status == preflight.Pass || r.Status == preflight.Skip {
			continue
		}
		all = append(all, clash{check: id, of: f.Host, found: r.Found, want: r.Want, source: sourceOf(id, f, &want), fix: r.Fix, fatal: r.Status == preflight.Fail})
	}
	return all, nil
}

// sourceOf is the row's where the check has rows, else the check's.
func sourceOf(id string, f *preflight.Facts, w *preflight.Want) string {
	if unmet, err := preflight.UnmetKernelNeeds(f, w); id == "kernel-version" && err == nil && len(unmet) > 0 {
		return unmet[0].Source
	}
	checks := preflight.Checks()
	return checks[slices.IndexFunc(checks, func(c preflight.Check) bool { return c.ID == id })].Source
}
