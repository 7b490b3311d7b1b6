package dnf

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// record lists the additions to a host. airgap writes it before it makes them.
type record struct {
	Packages []nevra.NEVRA `json:"packages"`
	Keys     []string      `json:"keys"`            // rpm's names of public keys: gpg-pubkey-ID-TIME
	Empty    []string      `json:"empty,omitempty"` // empty directories of /, for example /opt without an owner
}

// Undo erases exactly the packages and keys that Run added, and the private
// dnf state. If another package needs one of them, rpm fails and erases
// nothing.
func (t Transaction) Undo(ctx context.Context) error {
	if err := t.Await(ctx, func() {}); err != nil {
		return err
	}
	done, err := t.recorded()
	if err != nil {
		return err
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	args := rpmNames(slices.DeleteFunc(done.Packages, func(p nevra.NEVRA) bool { return !have[p.String()] }))
	for _, key := range done.Keys {
		if have[installedKey(key)] {
			args = append(args, key)
		}
	}
	if len(args) > 0 {
		if err := t.erase(ctx, args, done.Empty); err != nil {
			return fmt.Errorf("erase packages: %w", err)
		}
	}
	return host.RemoveTree(t.StateDir)
}

// erase removes packages, and the directories that rpm created for their files
// and that no package owns. The directories in keep existed before.
func (t Transaction) erase(ctx context.Context, packages, keep []string) error {
	dirs, err := t.parents(ctx, packages)
	if err != nil {
		return err
	}
	if _, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-e"}, packages...), Log: t.Log}); err != nil {
		return err
	}
	for _, dir := range dirs {
		if slices.Contains(keep, dir) || !isEmpty(filepath.Join("/", t.Root, dir)) || t.owned(ctx, dir) {
			continue
		}
		if err := os.Remove(filepath.Join("/", t.Root, dir)); err != nil {
			return err
		}
	}
	return nil
}

// parents returns the directories above the packages' files, the innermost first.
func (t Transaction) parents(ctx context.Context, packages []string) ([]string, error) {
	out, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-q", "--qf", `[%{FILENAMES}\n]`}, packages...)})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for file := range strings.Lines(string(out)) {
		if !strings.HasPrefix(file, "/") {
			continue // a key has "(none)"
		}
		for dir := filepath.Dir(strings.TrimSpace(file)); dir != "/"; dir = filepath.Dir(dir) {
			found[dir] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int { return strings.Compare(b, a) }), nil
}

func (t Transaction) owned(ctx context.Context, dir string) bool {
	_, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: []string{"-qf", dir}})
	return err == nil
}

// emptyAtTop returns the empty directories of /.
func (t Transaction) emptyAtTop() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join("/", t.Root))
	if err != nil {
		return nil, err
	}
	var empty []string
	for _, e := range entries {
		if isEmpty(filepath.Join("/", t.Root, e.Name())) {
			empty = append(empty, "/"+e.Name())
		}
	}
	return empty, nil
}

// isEmpty returns false if dir is not a directory, for example a link to one.
func isEmpty(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// Await waits until no dnf that airgap started runs: dnf continues if airgap is
// killed. It calls waiting once if it must wait.
func (t Transaction) Await(ctx context.Context, waiting func()) error {
	if err := host.AwaitLock(ctx, t.lockPath(), waiting); err != nil {
		return fmt.Errorf("wait for dnf, which an interrupted run left running: %w", err)
	}
	return nil
}

// RecordFile returns the path of the record of installed packages, below a StateDir.
func RecordFile(stateDir string) string { return filepath.Join(stateDir, "installed.json") }

func (t Transaction) recordPath() string { return RecordFile(t.StateDir) }

func (t Transaction) recorded() (record, error) {
	done, err := host.ReadJSON[record](t.recordPath())
	if err != nil {
		return done, fmt.Errorf("read the record of installed packages: %w", err)
	}
	return done, nil
}

// forgetReplaced removes packages from the record that another build has replaced. A
// package that was erased stays in it.
func (t Transaction) forgetReplaced(ctx context.Context) error {
	done, err := t.recorded()
	if err != nil {
		return err
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	present := func(p nevra.NEVRA) bool { return have[p.String()] }
	left := slices.DeleteFunc(slices.Clone(done.Packages), func(old nevra.NEVRA) bool {
		return !present(old) && slices.ContainsFunc(done.Packages, func(p nevra.NEVRA) bool { return present(p) && old.ReplacedBy(p) })
	})
	if len(left) == len(done.Packages) {
		return nil
	}
	done.Packages = left
	return host.WriteJSON(t.recordPath(), done)
}

// Provided returns the packages that Run has installed on the host with this StateDir,
// according to the record.
func Provided(stateDir string) ([]nevra.NEVRA, error) {
	done, err := Transaction{StateDir: stateDir}.recorded()
	return done.Packages, err
}

// remember adds the packages, and the keys that are not in before, to the record.
func (t Transaction) remember(missing []nevra.NEVRA, before map[string]bool) error {
	done, err := t.recorded()
	if err != nil {
		return err
	}
	if len(done.Packages) == 0 {
		if done.Empty, err = t.emptyAtTop(); err != nil {
			return err
		}
	}
	for _, p := range missing {
		if !slices.Contains(done.Packages, p) {
			done.Packages = append(done.Packages, p)
		}
	}
	ring, err := rpm.ReadKeyring(slices.Collect(maps.Values(t.Keys))...)
	if err != nil {
		return err
	}
	for _, key := range ring.DatabaseNames() {
		if !before[installedKey(key)] && !slices.Contains(done.Keys, key) {
			done.Keys = append(done.Keys, key)
		}
	}
	slices.Sort(done.Keys)
	return host.WriteJSON(t.recordPath(), done)
}

// installedKey returns the name of a key in the list of installed packages.
func installedKey(key string) string {
	id, created := key[len("gpg-pubkey-"):len(key)-9], key[len(key)-8:]
	return fmt.Sprintf("gpg-pubkey-0:%s-%s.(none)", id, created)
}
