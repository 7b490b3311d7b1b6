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
	"airgap.dev/airgap/preflight/facts"
)

// incompatibility is a combination that cannot work, or that no vendor supports.
type incompatibility struct {
	check  string // ID of the preflight check; "" for a problem of airgap.yaml
	of     string // "airgap.yaml", or a surveyed server
	found  string
	want   string
	source string // "" if found names it
	fix    string
	fatal  bool
}

// checkCompatibility selects the drivers of GPU nodes. It refuses combinations that cannot
// work, also according to the table of bundle --matrix, in one error and before any
// request to upstream. It prints a warning for combinations that no vendor supports.
func checkCompatibility(c *config.Cluster, surveyed []*facts.Facts, now time.Time, p ui.Progress) (gpus map[string]gpu.Plan, err error) {
	gpus, problems := gpuPlans(c, surveyed, now)
	more, err := incompatibilities(c, surveyed, gpus, now)
	if err != nil {
		return nil, err
	}
	return gpus, report(append(problems, more...), "run airgap bundle --matrix to see the compatible versions and the source of each entry", p)
}

// report prints warnings, and returns one error with all combinations that cannot
// work, with a hint.
func report(all []incompatibility, hint string, p ui.Progress) error {
	var fatal []string
	for _, x := range merged(all) {
		if x.fatal {
			fatal = append(fatal, x.String())
		} else {
			p.Say("warning: %s", x)
		}
	}
	if len(fatal) == 0 {
		return nil
	}
	return advice.Add(advice.Usage(fmt.Errorf("%s\n%s", ui.Count(len(fatal), "incompatible combination"), strings.Join(fatal, "\n"))), "%s", hint)
}

// merged joins the same problem of several servers: "db1, db2: cgroup-version: v1, want v2".
func merged(all []incompatibility) []incompatibility {
	var some []incompatibility
	for _, x := range all {
		same := func(y incompatibility) bool { y.of = x.of; return x == y }
		if i := slices.IndexFunc(some, same); i >= 0 {
			some[i].of += ", " + x.of
			continue
		}
		some = append(some, x)
	}
	return some
}

func (x incompatibility) String() string {
	text := x.of + ": "
	if x.check != "" {
		text += x.check + ": "
	}
	text += x.found
	if x.want != "" { // "" if it is not known
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

func incompatibilities(c *config.Cluster, surveyed []*facts.Facts, gpus map[string]gpu.Plan, now time.Time) ([]incompatibility, error) {
	var all []incompatibility
	for _, k := range kubeadm.Conflicts(c.Kubernetes, c.Runtime, now) {
		all = append(all, incompatibility{of: "airgap.yaml", found: k.Found, want: k.Want, source: k.Source, fatal: k.Fatal})
	}
	if f, known := preflight.Assumed(c.Packages.OS); known && len(surveyed) == 0 {
		some, err := hostProblems(c, f, gpu.Plan{})
		return append(all, assumed(some)...), err
	}
	for _, f := range surveyed {
		some, err := hostProblems(c, f, gpus[f.Host])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// assumed marks problems of a server without a survey. Its cgroup mode may differ from the
// default, so that is only a warning. airgap assumes the kernel of the system.
func assumed(all []incompatibility) []incompatibility {
	for i := range all {
		all[i].of += " (assumed: no --facts)"
		all[i].fatal = all[i].fatal && all[i].check != "cgroup-version"
	}
	return all
}

// hostChecks returns the preflight checks that depend on the contents of the bundle, and
// that an installation cannot fix.
func hostChecks() []string {
	return []string{"os-supported", "kernel-version", "cgroup-version", "gpu-present", "gpu-driver", "gpu-foreign", "secure-boot", "fapolicyd"}
}

// hostProblems runs preflight checks on the survey, with the settings of airgap.yaml, as
// preflight will run them on the host.
func hostProblems(c *config.Cluster, f *facts.Facts, driver gpu.Plan) ([]incompatibility, error) {
	want := preflight.Want{
		OS: c.Packages.OS, KubernetesVersion: c.Kubernetes.Version, Site: c.Preflight, AllowCgroupV1: c.Kubernetes.AllowsCgroupV1(),
		ProxyMode: c.Kubernetes.ProxyMode(runtime.Facts{OS: f.OS.Enterprise(), Kernel: f.Kernel.Release}),
		Network:   cni.NeedsOf(c.Network), Roles: c.PreflightRoles(f.Host),
		Packages: slices.Concat(driver.Driver, driver.Packages), Installer: c.GPU.Source == gpu.Runfile,
	}
	seen := facts.GPUs(gpu.Look(f.PCI, f.Driver))
	judged := *f
	judged.Asked.GPUs = &seen
	var all []incompatibility
	if lacks := f.NotSurveyed(facts.Names()...); len(lacks) > 0 {
		all = append(all, incompatibility{of: f.Host, found: fmt.Sprintf("its survey is from an older airgap, without %d facts: %s", len(lacks), strings.Join(lacks, ", ")),
			want: "a survey of this version", source: "airgap survey", fix: "run airgap survey there again, or the new survey script; otherwise preflight finds these problems only on the server"})
	}
	for _, id := range hostChecks() {
		some, err := checked(id, &judged, want)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// checked runs one preflight check on a survey; nil if the server passes.
func checked(id string, f *facts.Facts, want preflight.Want) ([]incompatibility, error) {
	r, err := preflight.RunOne(id, f, want, nil)
	if err != nil || r.Status == preflight.Pass || r.Status == preflight.Skip {
		return nil, err
	}
	if r.Status == preflight.Error { // its own fix is for the server
		r.Fix = "run airgap survey as root there again; or check it yourself, and pass --skip " + id + " on the server"
	}
	return []incompatibility{{check: id, of: f.Host, found: r.Found, want: r.Want, source: sourceOf(id, f, &want), fix: r.Fix, fatal: r.Status == preflight.Fail}}, nil
}

// sourceOf returns the source of the table row, or of the check if it has no rows.
func sourceOf(id string, f *facts.Facts, w *preflight.Want) string {
	if unmet, err := preflight.UnmetKernelNeeds(f, w); id == "kernel-version" && err == nil && len(unmet) > 0 {
		return unmet[0].Source
	}
	checks := preflight.Checks()
	return checks[slices.IndexFunc(checks, func(c preflight.Check) bool { return c.ID == id })].Source
}
