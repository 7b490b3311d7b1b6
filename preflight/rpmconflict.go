package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func sortPackages(packages []Package) {
	slices.SortFunc(packages, func(a, b Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Release, b.Release), cmp.Compare(a.Arch, b.Arch))
	})
}

// installed is nil when no package of that name is installed.
func (f *Facts) installed(name string) *Package {
	i := slices.IndexFunc(f.Packages, func(p Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Packages[i]
}

var rpmConflict = Check{
	ID: "rpm-conflict", Title: "No conflicting RPMs", Source: "docker/containerd-packaging, containerd.spec; containerd#5417",
	Breaks: "dnf would refuse, or take away what podman needs.",
	Needs:  []string{"packages"}, Run: judgeConflicts,
}

// judgeConflicts finds what can be told by names alone; versions are the
// solver's and the dry transaction's business.
func judgeConflicts(f *Facts, w *Want) Result {
	if len(w.Packages) == 0 {
		return skipped("the bundle brings no packages")
	}
	clashes := f.declaredConflicts(w.Packages)
	if slices.Contains(w.Packages, "containerd.io") && f.installed("containerd.io") == nil {
		// It conflicts with both, and obsoletes them. Podman may stay where it has crun.
		for _, name := range []string{"containerd", "runc"} {
			if f.installed(name) != nil {
				clashes = append(clashes, "containerd.io against installed "+name)
			}
		}
	}
	if len(clashes) > 0 {
		return Result{Fail, strings.Join(clashes, "; "), "packages that can be installed side by side",
			conflictRemedy(w)}
	}
	return pass("%d packages to install, none in conflict by name", len(w.Packages))
}

func conflictRemedy(w *Want) string {
	if w.RuntimePackage != "" {
		return "runtime.source: archive brings a runtime beside what is installed; or remove that"
	}
	return "take the package out of packages.install, or remove the installed one"
}

// declaredConflicts lists installed packages that conflict with every version
// of a package to be installed.
func (f *Facts) declaredConflicts(names []string) []string {
	var clashes []string
	for _, p := range f.Packages {
		for _, c := range p.Conflicts {
			if c.Op == "" && slices.Contains(names, c.Name) && c.Name != p.Name {
				clashes = append(clashes, fmt.Sprintf("installed %s conflicts with %s", p.Name, c.Name))
			}
		}
	}
	return clashes
}

// packages judges what came of running the bundle's transaction dry.
var packages = Check{
	ID: "packages", Title: "The bundle's packages can be installed", Source: "dnf, without changing anything",
	Breaks: "dnf would fail in the middle of the installation, or change packages that are frozen.",
	Run:    judgeTransaction,
}

func judgeTransaction(f *Facts, _ *Want) Result {
	switch try := f.Asked.Transaction; {
	case !try.Made:
		return skipped(cmp.Or(try.Left, "no bundle to try"))
	case try.Failed != "":
		return Result{Fail, try.Failed, "a transaction that installs exactly what the bundle's lock says",
			"survey this host and make the bundle with its facts: airgap survey"}
	}
	return pass("dnf would install exactly what the lock says")
}
