package preflight

import (
	"fmt"
	"path"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var dnfFrozen = Check{
	ID: "dnf-frozen", Title: "dnf excludes none of the bundle's packages", Source: "airgap: dnf reads only the bundle's configuration, without excludes and plugins",
	Breaks: "airgap installs packages that the site excludes or locks, because it does not use the site's dnf configuration.",
	Needs:  []string{"frozen", "packages"}, Run: judgeFrozen,
}

// judgeFrozen warns and does not fail: airgap changes no installed package, and these lines do
// not stop the transaction.
func judgeFrozen(f *facts.Facts, w *Want) Result {
	if w.Managed {
		return skipped("airgap has locked its own packages")
	}
	var found []string
	for _, name := range w.Packages {
		for _, frozen := range f.Frozen {
			if is, err := path.Match(frozen.Pattern, name); (err == nil && is || frozen.Pattern == name) && f.Installed(name) == nil {
				found = append(found, fmt.Sprintf("%s by %s", name, frozen.File))
				break
			}
		}
	}
	if len(found) > 0 {
		return Result{Warn, "the bundle installs excluded packages: " + strings.Join(found, ", "), "no package that the site excludes", "ask the site's administrators why they are excluded; airgap changes no installed package"}
	}
	return pass("no package of the bundle is excluded")
}
