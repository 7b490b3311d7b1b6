package preflight

import (
	"slices"

	"airgap.dev/airgap/preflight/facts"
)

// watchedCheck is a check that judges the next boot of a running node, too.
type watchedCheck struct {
	Check
	warns bool // its warnings are problems of a node
}

// watchedChecks does not have the kernel parameters that the installation sets: the node reports them
// separately (settings.DriftedSysctls). Warnings of the other checks are no change, such as a mount that may be missing.
func watchedChecks() []watchedCheck {
	return []watchedCheck{
		{swap, false}, {without(selinux, "directories"), true}, {bootMounts, false}, {needing(kernelModules, "modulesLoad"), false}, {modulesLocked, false},
		{cgroupVersion, true}, {cgroupControllers, false}, {memory, false}, {cpuCount, false}, {ipv6, false}, {hostname, false},
		{mountNoexec, false}, {multipath, false}, {userNamespaces, false}, {rpFilter, false}, {proxyEnv, false}, {serviceRules, false}, {nmCloudSetup, false}, {sysctlOverride, false},
	}
}

// needing returns the check with more facts: only a watched node needs airgap's file in modules-load.d.
func needing(c Check, fact string) Check {
	c.Needs = append(slices.Clone(c.Needs), fact)
	return c
}

// without returns the check without a need: the report does not judge the labels of directories, which a
// boot does not change.
func without(c Check, fact string) Check {
	c.Needs = slices.DeleteFunc(slices.Clone(c.Needs), func(need string) bool { return need == fact })
	return c
}

// NextBoot returns the results that the next boot of a node would change for the worse, and those that are
// unknown. Failures that the site accepts (severity warn) are not among them.
func NextBoot(f *facts.Facts, w Want) []Entry {
	w.Managed, w.Watched = true, true
	now := facts.WithoutNextBoot(f)
	var entries []Entry
	for _, c := range watchedChecks() {
		if w.Site.Checks.of(c.Check)[severity] == string(Warn) {
			continue
		}
		next := c.judge(f, &w, nil)
		if next.Status == Error || c.counts(next) && next != c.judge(now, &w, nil) {
			entries = append(entries, Entry{ID: c.ID, Title: c.Title, Source: c.Source, Result: next})
		}
	}
	return entries
}

func (c watchedCheck) counts(r Result) bool {
	return r.Status == Fail || c.warns && r.Status == Warn
}
