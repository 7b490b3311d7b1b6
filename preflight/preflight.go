// Package preflight says whether a server can become a Kubernetes node before
// anything on it is changed.
//
// Facts flow in through a host.Host: Gather reads what the checks and the
// bundle planner need to know, once, and records what could not be read
// instead of guessing it. A survey is those facts as YAML. What the host's files
// do not have, such as dnf's answer, the caller adds as Facts.Asked. Checks then judge
// facts against a Want, what the site is about to install. Both are data and the checks
// are pure, so a recorded server, or a survey mailed from a bank, is judged as the real one
// would be.
//
// Run gives a Report, which is rendered as text, JSON, JUnit or HTML; those of
// several hosts are put together as Reports. The package never changes the host
// and never decides what a report means: the command does.
package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Status is the outcome of a check.
type Status string

const (
	Pass  Status = "pass"
	Warn  Status = "warn"  // works, but somebody should know
	Fail  Status = "fail"  // the installation would break, now or later
	Skip  Status = "skip"  // does not apply here, or was told to be skipped
	Error Status = "error" // could not tell
)

// Result is what a check found out.
type Result struct {
	Status Status `yaml:"status" json:"status"`
	Found  string `yaml:"found,omitempty" json:"found,omitempty"` // what the host has
	Want   string `yaml:"want,omitempty" json:"want,omitempty"`   // what it should have
	Fix    string `yaml:"fix,omitempty" json:"fix,omitempty"`     // what an administrator does about it
}

// Check judges one property of a host.
type Check struct {
	ID     string  // stable, for --skip: "cgroup-version"
	Title  string  // for people: "cgroup version"
	Breaks string  // what goes wrong without it, in a sentence
	Source string  // where the rule comes from
	Role   Role    // which it is for; "" for every host
	Across bool    // judged by what was measured between hosts, and not on one of them
	Limits []Limit // that a site may set
	// Needs are the facts it judges, by the names of Unknown.Fact. When one of
	// them is unknown the result is Error, and Run is not called.
	Needs []string
	Run   func(f *Facts, w *Want) Result
}

// Checks lists every check in the order of the report.
func Checks() []Check {
	return append([]Check{
		osSupported, systemdInit, systemdVersion, kernelVersion, kernelRunning, kernelConfig, kernelModules, modulesLocked,
		cpuLevel, cpuCount, memory, swap,
		cgroupVersion, cgroupControllers, cgroupDriver,
		machineIDs, hostname, hostsFile, timeSync, clockSane, clockPeer,
		diskSpace, inodes, fsType, xfsType, mountNoexec, tmpNoexec, etcdSync, usbMedia,
		selinux, fapolicyd, firewalld, fips, auditd, antivirus, umask, limits, inotify, userNamespaces,
		networkManager, nmCloudSetup, nodeIP, defaultRoute, cidrOverlap, cidrSize, ipForward, bridgeNF, kernelDefaults, sysctlOverride,
		rpFilter, arpSysctl, conntrack, nftForeign, iptablesBackend, proxyEnv, resolvConf, portsFree,
		oldCluster, certExpiry, endpointFree, siteRegistry, runtimePresent, rpmConflict, dnfFrozen, toolsThere,
		gpuPresent, gpuBAR, gpuNouveau, secureBoot, gpuKernelDevel, gpuForeign, gpuDriver, gpuFabric,
		packages,
	}, betweenChecks()...)
}

// Choice is which checks are run, by ID.
type Choice struct {
	Only []string // nil: all
	Skip []string // stand in the report as skipped
}

// checks gives those that were chosen. An ID that no check has is an error: a mistyped
// one to skip would otherwise look like a fixed host.
func (c Choice) checks() ([]Check, error) {
	all := Checks()
	for _, id := range slices.Concat(c.Only, c.Skip) {
		if _, err := Lookup(id); err != nil {
			return nil, err
		}
	}
	if c.Only == nil {
		return all, nil
	}
	return slices.DeleteFunc(all, func(check Check) bool { return !slices.Contains(c.Only, check.ID) }), nil
}

// Lookup gives the check with an ID.
func Lookup(id string) (Check, error) {
	for _, c := range Checks() {
		if c.ID == id {
			return c, nil
		}
	}
	return Check{}, fmt.Errorf("look up check %q: there is no such check (airgap preflight --list has all)", id)
}

// Run judges the facts by the checks that were chosen.
func Run(ctx context.Context, facts *Facts, want Want, choice Choice) (Report, error) {
	checks, err := choice.checks()
	if err != nil {
		return Report{}, err
	}
	report := Report{Host: facts.Host, System: facts.OS.Name, Kernel: facts.Kernel.Release, Taken: facts.Time.Now, Worst: Pass}
	for _, c := range checks {
		if c.Across && want.Between == nil && choice.Only == nil {
			continue
		}
		entry := Entry{ID: c.ID, Title: c.Title, Source: c.Source, Site: want.Site.Checks.text(c.ID), Result: c.judge(facts, &want, choice.Skip)}
		report.Results = append(report.Results, entry)
		report.Worst = worse(report.Worst, entry.Status)
	}
	return report, ctx.Err()
}

// RunOne judges by a single check, with the site's settings, for who cannot wait
// for the others.
func RunOne(id string, facts *Facts, want Want, skip []string) (Result, error) {
	c, err := Lookup(id)
	if err != nil {
		return Result{}, err
	}
	return c.judge(facts, &want, skip), nil
}

func (c Check) judge(f *Facts, w *Want, skip []string) Result {
	if slices.Contains(skip, c.ID) {
		return Result{Status: Skip, Found: "skipped by request"}
	}
	if c.Role != "" && !w.Is(c.Role) {
		return skipped("no " + string(c.Role) + " role")
	}
	if reasons := f.Why(c.Needs...); len(reasons) > 0 {
		return w.Site.Checks.soften(c.ID, Result{Status: Error, Found: "could not tell: " + strings.Join(reasons, "; "),
			Fix: "run as root; or look yourself and pass --skip " + c.ID})
	}
	return w.Site.Checks.soften(c.ID, c.Run(f, w))
}

// worse orders statuses by how much they stand in the way: skip counts as
// pass, and not knowing is worse than a warning, better than a failure.
func worse(a, b Status) Status {
	rank := map[Status]int{Pass: 0, Skip: 0, Warn: 1, Error: 2, Fail: 3}
	if cmp.Compare(rank[b], rank[a]) > 0 {
		return b
	}
	return a
}

// pass, skipped and their like keep the checks short.
func pass(found string, args ...any) Result {
	return Result{Status: Pass, Found: fmt.Sprintf(found, args...)}
}

func skipped(why string) Result { return Result{Status: Skip, Found: why} }
