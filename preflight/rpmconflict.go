package preflight

import (
	"cmp"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var rpmConflict = Check{
	ID: "rpm-conflict", Title: "No installed RPM conflicts with the bundle", Source: "docker/containerd-packaging, containerd.spec; containerd#5417",
	Breaks: "dnf would refuse the installation, or remove packages that podman needs.",
	Needs:  []string{"packages"}, Run: judgeConflicts,
}

// judgeConflicts finds conflicts by name. The solver and the dry run of the transaction check the
// versions.
func judgeConflicts(f *facts.Facts, w *Want) Result {
	if len(w.Packages) == 0 {
		return skipped("the bundle has no packages")
	}
	conflicts := f.DeclaredConflicts(w.Packages)
	if slices.Contains(w.Packages, "containerd.io") && f.Installed("containerd.io") == nil {
		// containerd.io conflicts with both, and obsoletes them. Podman can stay if it uses crun.
		for _, name := range []string{"containerd", "runc"} {
			if f.Installed(name) != nil {
				conflicts = append(conflicts, "containerd.io conflicts with installed "+name)
			}
		}
	}
	if len(conflicts) > 0 {
		return Result{Fail, strings.Join(conflicts, "; "), "packages without conflicts",
			conflictFix(w)}
	}
	if len(f.OddPackages) > 0 {
		return Result{Warn, "rpm shows odd data for " + strings.Join(f.OddPackages, ", ") + ": not compared", "packages with a name, a version and a number as epoch",
			"run rpm -qi and rpm -q --provides --requires --conflicts --obsoletes for each, and compare their conflicts yourself"}
	}
	return pass("%d packages to install, no conflict by name", len(w.Packages))
}

func conflictFix(w *Want) string {
	if w.RuntimePackage != "" {
		return "set runtime.source: archive, which installs a runtime next to the existing one; or remove the existing one"
	}
	return "remove the package from packages.install, or remove the installed one"
}

// packages checks the outcome of the dry run of the bundle's dnf transaction.
var packages = Check{
	ID: "packages", Title: "The bundle's packages can be installed", Source: "dry run of dnf, test transaction of rpm",
	Breaks: "dnf would fail during the installation, or change frozen packages.",
	Run:    judgeTransaction,
}

func judgeTransaction(f *facts.Facts, _ *Want) Result {
	switch outcome := f.Asked.Transaction; {
	case !outcome.Done:
		return skipped(cmp.Or(outcome.Skipped, "no bundle to test"))
	case outcome.Failed != "":
		return Result{Fail, outcome.Failed, "a transaction that installs exactly the packages in the bundle's lock file",
			"run airgap survey on this host, and create the bundle with its facts"}
	}
	return pass("dnf would install exactly the packages in the lock file")
}
