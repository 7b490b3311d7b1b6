// Package preflight checks whether a server can become a Kubernetes node, before anything on it
// is changed.
//
// Checks compare the facts of a server (package facts) with a Want, the planned installation. Both
// are data, and the checks are pure functions: a recorded server or a survey file gives the same
// results as the server itself.
//
// Run returns a Report, which can be written as text, JSON, JUnit or HTML. Reports combines the
// reports of several hosts. The package never changes the host. The command, not this package,
// decides whether a report stops an installation.
package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight/facts"
)

// Status is the outcome of a check.
type Status string

const (
	Pass  Status = "pass"
	Warn  Status = "warn"  // the installation works, but with a limitation
	Fail  Status = "fail"  // the installation would break, now or later
	Skip  Status = "skip"  // the check does not apply, or the user skips it
	Error Status = "error" // the result is unknown
)

// Result is the result of a check on a host.
type Result struct {
	Status Status `yaml:"status" json:"status"`
	Found  string `yaml:"found,omitempty" json:"found,omitempty"` // the state of the host
	Want   string `yaml:"want,omitempty" json:"want,omitempty"`   // the expected state
	Fix    string `yaml:"fix,omitempty" json:"fix,omitempty"`     // how to fix it
}

// Check judges one property of a host.
type Check struct {
	ID     string  // stable, for --skip: "cgroup-version"
	Former string  // its ID in the last release, which still works; "" for none
	Title  string  // the desired state: "cgroup v2 is in use"
	Breaks string  // the consequence of a failure, in a sentence or two
	Source string  // the source of the rule
	Role   Role    // the role that it applies to; "" for every host
	Limits []Limit // that a site can set
	// Owner is the team that can fix the check, if not the administrators of the hosts: "dns"; "" otherwise.
	Owner string
	// CrossHost is true for a check of the network between hosts, which Run skips by default.
	CrossHost bool
	// Needs are the facts that the check uses, by the names of Unknown.Fact. If one of them is
	// unknown, the result is Error, and Run is not called.
	Needs []string
	Run   func(f *facts.Facts, w *Want) Result
}

// Checks lists every check in the order of the report.
func Checks() []Check {
	return append([]Check{
		osSupported, systemdInit, systemdVersion, kernelVersion, kernelRunning, kernelConfig, kernelModules, modulesLocked,
		cpuLevel, cpuCount, memory, swap,
		cgroupVersion, cgroupControllers, cgroupDriver,
		machineIDs, hostname, hostsFile, timeSync, clockSane, clockPeer,
		diskSpace, inodes, fsType, xfsType, mountNoexec, tmpNoexec, hidePID, dataLinks, bootMounts, parentDirs, multipath, etcdSync, usbMedia, usbStorage, fileScans,
		selinux, fapolicyd, firewalld, fips, auditd, antivirus, umask, foreignUnits, programPath, serviceRules, logins, passwords, limits, inotify, userNamespaces,
		ipv6, networkManager, nmCloudSetup, nodeIP, defaultRoute, policyRouting, cidrOverlap, cidrSize, ipForward, bridgeNF, kernelDefaults, sysctlOverride, bootCommands,
		rpFilter, arpSysctl, conntrack, nftForeign, segmentation, podPath, iptablesBackend, proxyEnv, resolvConf, nameServers, endpointName, portsFree, localPorts,
		oldCluster, certExpiry, endpointFree, siteRegistry, runtimePresent, rpmConflict, dnfFrozen, requiredTools, storageClients,
		gpuPresent, gpuBAR, gpuNouveau, secureBoot, gpuKernelDevel, gpuForeign, gpuDriver, gpuFabric,
		packages,
	}, crossHostChecks()...)
}

// Choice selects the checks to run, by ID.
type Choice struct {
	Only []string // nil: all
	Skip []string // reported as skipped
}

// checks returns the chosen checks. An unknown ID is an error: otherwise a typing error in Skip
// would go unnoticed.
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
	return slices.DeleteFunc(all, func(check Check) bool { return !check.in(c.Only) }), nil
}

// is reports whether an ID is the ID of the check, or its former one.
func (c Check) is(id string) bool { return id == c.ID || id != "" && id == c.Former }

// in reports whether a list of IDs has the check.
func (c Check) in(ids []string) bool { return slices.ContainsFunc(ids, c.is) }

// Lookup returns the check with an ID.
func Lookup(id string) (Check, error) {
	for _, c := range Checks() {
		if c.is(id) {
			return c, nil
		}
	}
	return Check{}, fmt.Errorf("look up check %q: no such check%s (airgap preflight --list lists all)", id, advice.DidYouMean(id, IDs()))
}

// IDs returns the IDs of all checks.
func IDs() []string {
	var ids []string
	for _, c := range Checks() {
		ids = append(ids, c.ID)
	}
	return ids
}

// Run applies the chosen checks to the facts.
func Run(ctx context.Context, gathered *facts.Facts, want Want, choice Choice) (Report, error) {
	checks, err := choice.checks()
	if err != nil {
		return Report{}, err
	}
	report := Report{Host: gathered.Host, System: gathered.OS.Name, Kernel: gathered.Kernel.Release, Taken: gathered.Time.Now, Worst: Pass, Traits: traitsOf(gathered)}
	for _, c := range checks {
		if c.CrossHost && want.CrossHost == nil && choice.Only == nil {
			continue
		}
		entry := Entry{ID: c.ID, Title: c.Title, Source: c.Source, Site: want.Site.Checks.text(c), Result: c.judge(gathered, &want, choice.Skip)}
		if c.Owner != "" && entry.Troubled() {
			entry.Owners = []string{c.Owner}
		}
		report.Results = append(report.Results, entry)
		report.Worst = worse(report.Worst, entry.Status)
	}
	return report, ctx.Err()
}

// RunOne applies a single check, with the site's settings. The facts can be
// limited to those in its Needs.
func RunOne(id string, gathered *facts.Facts, want Want, skip []string) (Result, error) {
	c, err := Lookup(id)
	if err != nil {
		return Result{}, err
	}
	return c.judge(gathered, &want, skip), nil
}

func (c Check) judge(f *facts.Facts, w *Want, skip []string) Result {
	if c.in(skip) {
		return Result{Status: Skip, Found: "skipped on request"}
	}
	if c.Role != "" && !w.HasRole(c.Role) {
		return skipped("no role " + string(c.Role))
	}
	if older := f.NotSurveyed(c.Needs...); len(older) > 0 {
		return skipped("the survey is from an older airgap, without " + strings.Join(older, ", "))
	}
	if reasons := f.Why(c.Needs...); len(reasons) > 0 {
		return w.Site.Checks.soften(c, Result{Status: Error, Found: "unknown: " + strings.Join(reasons, "; "),
			Fix: "run as root; or check it yourself and pass --skip " + c.ID})
	}
	return w.Site.Checks.soften(c, c.Run(f, w))
}

// worse returns the worse status. Skip counts as pass, and error is between warn and fail.
func worse(a, b Status) Status {
	rank := map[Status]int{Pass: 0, Skip: 0, Warn: 1, Error: 2, Fail: 3}
	if cmp.Compare(rank[b], rank[a]) > 0 {
		return b
	}
	return a
}

// pass is a passed result, with a format and its arguments.
func pass(found string, args ...any) Result {
	return Result{Status: Pass, Found: fmt.Sprintf(found, args...)}
}

func skipped(why string) Result { return Result{Status: Skip, Found: why} }
