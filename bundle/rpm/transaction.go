package rpm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// Transaction installs exactly the packages of a lock with the host's dnf,
// from the bundle's repository and no other.
type Transaction struct {
	Host     host.Host
	StateDir string            // everything of ours: /var/lib/airgap/dnf
	OS       string            // el9
	BaseURL  string            // https://HOST:5000/rpm/el9/
	CAFile   string            // of BaseURL's certificate; "" for plain http on the loopback
	Keys     map[string][]byte // the repository's keys/ directory: file name, armored public key
	Packages []nevra.NEVRA     // the lock
	// IfAbsent are those of Packages that a host does without if it has
	// another build of them: what others need, on a server that nobody
	// surveyed.
	IfAbsent map[nevra.NEVRA]bool
	// Own are packages that airgap brought to the host, see Brought: another build of
	// one takes its place. All others stay as they are.
	Own  []nevra.NEVRA
	Log  string // file that dnf's output is appended to; "" for none
	Root string // where Host's file system begins; "" is "/"
}

// TransactionError says how what dnf would do differs from the lock.
type TransactionError struct{ Differences []string }

func (e *TransactionError) Error() string {
	return "compare dnf's transaction with the lock: nothing was run, because dnf\n  - " + strings.Join(e.Differences, "\n  - ")
}

// Missing are the packages of the lock that are not installed in exactly that
// build.
func (t Transaction) Missing(ctx context.Context) ([]nevra.NEVRA, error) {
	have, err := t.installed(ctx)
	if err != nil {
		return nil, err
	}
	var missing []nevra.NEVRA
	for _, p := range t.Packages {
		if have[p.String()] || t.IfAbsent[p] && anyBuild(have, p.Name) {
			continue
		}
		missing = append(missing, p)
	}
	return missing, nil
}

func anyBuild(have map[string]bool, name string) bool {
	for one := range have {
		if n, err := nevra.Parse(one); err == nil && n.Name == name {
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

// Check asks dnf what it would do to install what is missing, changes nothing
// outside StateDir, and returns what is missing. Anything but exactly that is
// a *TransactionError.
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

// Run installs what is missing, after dnf's transaction was found to equal it,
// and mends what a power cut made of an earlier transaction.
func (t Transaction) Run(ctx context.Context) error {
	if err := t.repair(ctx); err != nil {
		return err
	}
	if err := t.install(ctx); err != nil {
		return err
	}
	return cmp.Or(t.sweep(ctx), t.forgetReplaced(ctx))
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

// compareInstalled makes sure that no scriptlet or plugin did more than the
// transaction said.
func (t Transaction) compareInstalled(ctx context.Context, before map[string]bool, missing []nevra.NEVRA) error {
	after, err := t.installed(ctx)
	if err != nil {
		return err
	}
	var differences []string
	replaced := t.replaced(missing)
	for name := range before {
		if !after[name] && !replaced[name] {
			differences = append(differences, name+" is gone")
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
	return fmt.Errorf("check what dnf installed: %w", errors.New(strings.Join(differences, "; ")))
}

// replaced are those of our own packages whose place others of the same name take.
func (t Transaction) replaced(by []nevra.NEVRA) map[string]bool {
	gone := map[string]bool{}
	for _, old := range t.Own {
		gone[old.String()] = slices.ContainsFunc(by, old.ReplacedBy)
	}
	return gone
}

// solve has dnf resolve the packages without running the transaction, and
// gives its solver's own record of the result: that is made for programs,
// where the table on stdout is not.
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
	// One dnf reads the repository and resolves: most of its time goes into starting and reading.
	// With -y it accepts our key for the metadata and keeps it in its cache, not in the rpm database.
	// For the transaction --assumeno wins over -y, so dnf always ends with an error. A dnf in which
	// -y wins still installs nothing, because of tsflags=test.
	asked := t.dnfIn(ctx, dir, nil, append([]string{"-y", "--assumeno", "--setopt=tsflags=test", "--refresh", "--debugsolver", "install"}, names(packages)...)...)
	record, err := os.ReadFile(filepath.Join(dir, "debugdata", "rpms", "solver.result"))
	if err != nil {
		return nil, fmt.Errorf("resolve packages: %w", cmp.Or(asked, err))
	}
	return strings.FieldsFunc(string(record), func(r rune) bool { return r == '\n' }), nil
}

// rpmNames are names as rpm takes them: not every rpm takes an epoch.
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

// lockSeconds is how long to wait for a dnf that is still at work.
const lockSeconds = "600"

func (t Transaction) lockPath() string { return filepath.Join(t.StateDir, "lock") }

// dnfIn runs dnf in a directory, since its solver's record goes to the
// working directory, and by another program where one is given. It asks no proxy:
// none of the environment comes through Host, and the configuration says _none_.
func (t Transaction) dnfIn(ctx context.Context, dir string, by []string, args ...string) error {
	// When airgap is killed dnf goes on. The lock, which it holds to its end,
	// makes the next run and the undo wait for that.
	argv := append([]string{"--verbose", "--wait", lockSeconds, t.lockPath()}, by...)
	argv = append(argv, "env", "-C", dir, "dnf", "--config", t.config(), "--disablerepo=*", "--enablerepo="+repositoryID)
	if t.OS != "" {
		argv = append(argv, "--releasever="+enterprise.Of(t.OS).Major())
	}
	env := []string{"LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1"} // its errors come last in the log
	_, err := t.Host.Run(ctx, host.Cmd{Name: "flock", Args: append(argv, args...), Env: env, Log: t.Log})
	return err
}
