// Package dnf installs the RPMs of a bundle on a server: a Transaction asks the server's dnf for its transaction,
// refuses any difference from the lock, runs it, repairs it after an interruption, and undoes it. A VersionLock keeps
// dnf from replacing the packages later.
//
// The package never replaces, downgrades or removes a package that airgap did not install.
package dnf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// Transaction installs exactly the packages of a lock with the host's dnf, only
// from the bundle's repository.
type Transaction struct {
	Host     host.Host
	StateDir string            // airgap's dnf files: /var/lib/airgap/dnf
	OS       string            // el9
	BaseURL  string            // https://HOST:5000/rpm/el9/
	CAFile   string            // CA of BaseURL's certificate; "" for plain http on the loopback
	Keys     map[string][]byte // the repository's keys/ directory: file name, armored public key
	Packages []nevra.NEVRA     // the lock
	// IfAbsent lists packages that are not installed if the host has another build of
	// them: packages for other servers, on a server without a survey.
	IfAbsent map[nevra.NEVRA]bool
	// Own lists the packages that airgap installed on the host, see Brought. Only these
	// may be replaced by another build.
	Own  []nevra.NEVRA
	Log  string // file for dnf's output, which is appended; "" for none
	Root string // root of Host's file system; "" is "/"
}

// TransactionError has the differences between dnf's transaction and the lock.
type TransactionError struct{ Differences []string }

func (e *TransactionError) Error() string {
	return "compare dnf's transaction with the lock: airgap installed nothing, because dnf\n  - " + strings.Join(e.Differences, "\n  - ")
}

// Missing returns the packages of the lock that are not installed in exactly this
// build.
func (t Transaction) Missing(ctx context.Context) ([]nevra.NEVRA, error) {
	have, err := t.installed(ctx)
	if err != nil {
		return nil, err
	}
	var missing []nevra.NEVRA
	for _, p := range t.Packages {
		if have[p.String()] || t.IfAbsent[p] && anyBuild(have, p) {
			continue
		}
		missing = append(missing, p)
	}
	return missing, nil
}

// anyBuild reports whether the host has a build that p would replace.
func anyBuild(have map[string]bool, p nevra.NEVRA) bool {
	for one := range have {
		if n, err := nevra.Parse(one); err == nil && n.Name == p.Name && rpm.SameColor(n.Arch, p.Arch) {
			return true
		}
	}
	return false
}

func (t Transaction) installed(ctx context.Context) (map[string]bool, error) {
	out, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: []string{"-qa", "--qf", `%{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH}\n`}})
	if err != nil {
		return nil, fmt.Errorf("list installed packages: %w", err)
	}
	have := map[string]bool{}
	for name := range strings.FieldsSeq(string(out)) {
		have[name] = true
	}
	return have, nil
}

// Check returns the missing packages after it has compared them with dnf's
// transaction. A difference is a *TransactionError. Check changes nothing outside
// of StateDir.
func (t Transaction) Check(ctx context.Context) ([]nevra.NEVRA, error) {
	missing, err := t.Missing(ctx)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	lines, err := t.solve(ctx, missing)
	if err != nil {
		return nil, err
	}
	if differences := compare(lines, missing, t.Own); len(differences) > 0 {
		return nil, &TransactionError{differences}
	}
	return missing, nil
}

// Run installs the missing packages if dnf's transaction consists of exactly
// these packages. Before that it repairs an interrupted transaction.
func (t Transaction) Run(ctx context.Context) error {
	if err := t.repair(ctx); err != nil {
		return err
	}
	if err := t.install(ctx); err != nil {
		return err
	}
	return cmp.Or(t.cleanUp(ctx), t.forgetReplaced(ctx))
}

func (t Transaction) install(ctx context.Context) error {
	missing, err := t.Check(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	before, err := t.installed(ctx)
	if err != nil {
		return err
	}
	if err := t.remember(missing, before); err != nil {
		return err
	}
	if err := t.transact(ctx, "install", missing); err != nil {
		return fmt.Errorf("install packages: %w", err)
	}
	return t.compareInstalled(ctx, before, missing)
}

// compareInstalled checks that no scriptlet or plugin changed more than the
// transaction.
func (t Transaction) compareInstalled(ctx context.Context, before map[string]bool, missing []nevra.NEVRA) error {
	after, err := t.installed(ctx)
	if err != nil {
		return err
	}
	var differences []string
	replaced := t.replaced(missing)
	for name := range before {
		if !after[name] && !replaced[name] {
			differences = append(differences, name+" was removed")
		}
	}
	for _, p := range missing {
		if !after[p.String()] {
			differences = append(differences, p.String()+" is not installed")
		}
	}
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	return fmt.Errorf("check the installed packages: %w", errors.New(strings.Join(differences, "; ")))
}

// replaced returns the packages of Own that other builds replace.
func (t Transaction) replaced(by []nevra.NEVRA) map[string]bool {
	replaced := map[string]bool{}
	for _, old := range t.Own {
		replaced[old.String()] = slices.ContainsFunc(by, old.ReplacedBy)
	}
	return replaced
}

// solve resolves the packages with dnf without running the transaction. It returns
// the record of dnf's solver, which is machine-readable, unlike the table on stdout.
func (t Transaction) solve(ctx context.Context, packages []nevra.NEVRA) ([]string, error) {
	if err := t.configure(); err != nil {
		return nil, err
	}
	dir := filepath.Join(t.StateDir, "solver")
	if err := host.RemoveTree(dir); err != nil {
		return nil, fmt.Errorf("resolve packages: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("resolve packages: %w", err)
	}
	// One dnf run reads the repository and resolves, because dnf needs most time to start and to read.
	// With -y dnf accepts airgap's key for the metadata and keeps it in its cache, not in the rpm database.
	// For the transaction --assumeno overrides -y, so dnf always exits with an error. If -y overrides
	// it in some version, dnf still installs nothing, because of tsflags=test.
	asked := t.dnfIn(ctx, dir, nil, append([]string{"-y", "--assumeno", "--setopt=tsflags=test", "--refresh", "--debugsolver", "install"}, names(packages)...)...)
	record, err := os.ReadFile(filepath.Join(dir, "debugdata", "rpms", "solver.result"))
	if err != nil {
		return nil, fmt.Errorf("resolve packages: %w", cmp.Or(asked, err))
	}
	return strings.FieldsFunc(string(record), func(r rune) bool { return r == '\n' }), nil
}

// rpmNames returns names without an epoch, which some versions of rpm do not accept.
func rpmNames(packages []nevra.NEVRA) []string {
	all := make([]string, len(packages))
	for i, p := range packages {
		all[i] = p.WithoutEpoch()
	}
	return all
}

func names(packages []nevra.NEVRA) []string {
	all := make([]string, len(packages))
	for i, p := range packages {
		all[i] = p.String()
	}
	return all
}

func (t Transaction) dnf(ctx context.Context, args ...string) error {
	return t.dnfIn(ctx, t.StateDir, nil, args...)
}

// lockSeconds is the time to wait for a dnf that still runs.
const lockSeconds = "600"

func (t Transaction) lockPath() string { return filepath.Join(t.StateDir, "lock") }

// dnfIn runs dnf in a directory, because its solver writes the record to the working
// directory. If by is given, this command runs dnf. dnf uses no proxy: Host passes no
// environment, and the configuration has proxy=_none_.
func (t Transaction) dnfIn(ctx context.Context, dir string, by []string, args ...string) error {
	// If airgap is killed, dnf continues. It keeps the lock until it exits, so the
	// next run and the undo wait for it.
	argv := append([]string{"--verbose", "--wait", lockSeconds, t.lockPath()}, by...)
	argv = append(argv, "env", "-C", dir, "dnf", "--config", t.config(), "--disablerepo=*", "--enablerepo="+repositoryID)
	if t.OS != "" {
		argv = append(argv, "--releasever="+enterprise.Of(t.OS).Major())
	}
	env := []string{"LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1"} // its errors come last in the log
	_, err := t.Host.Run(ctx, host.Cmd{Name: "flock", Args: append(argv, args...), Env: env, Log: t.Log})
	return err
}
