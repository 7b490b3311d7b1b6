package rpm

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// record is what we are about to add to a host, written down before.
type record struct {
	Packages []nevra.NEVRA `json:"packages"`
	Keys     []string      `json:"keys"`            // as rpm names public keys: gpg-pubkey-ID-TIME
	Empty    []string      `json:"empty,omitempty"` // directories of / with nothing in them: no package need own /opt
}

// Undo erases exactly the packages and the keys that Run added, and the
// private dnf state. Where something else needs them by now, rpm says so and
// nothing is erased.
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

// erase removes packages, and the directories that rpm made for their files
// though no package lists them. Those to keep were there before.
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

// parents are the directories above the packages' files, the inner ones first.
func (t Transaction) parents(ctx context.Context, packages []string) ([]string, error) {
	out, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-q", "--qf", `[%{FILENAMES}\n]`}, packages...)})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for file := range strings.Lines(string(out)) {
		if !strings.HasPrefix(file, "/") {
			continue // "(none)" of a key
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

// emptyAtTop are the empty directories of /.
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

// isEmpty is false for what is no directory, a link to one for instance.
func isEmpty(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// Await returns when no dnf of ours is at work any more: one whose airgap was
// killed goes on. waiting is called once when there is one.
func (t Transaction) Await(ctx context.Context, waiting func()) error {
	if err := host.AwaitLock(ctx, t.lockPath(), waiting); err != nil {
		return fmt.Errorf("wait for dnf, which an interrupted run left at work: %w", err)
	}
	return nil
}

// RecordFile is the file with the packages that airgap brought, below a StateDir.
func RecordFile(stateDir string) string { return filepath.Join(stateDir, "installed.json") }

func (t Transaction) recordPath() string { return RecordFile(t.StateDir) }

func (t Transaction) recorded() (record, error) {
	done, err := host.ReadJSON[record](t.recordPath())
	if err != nil {
		return done, fmt.Errorf("read what was installed: %w", err)
	}
	return done, nil
}

// forgetReplaced takes those packages out of the record whose place another build has
// taken, newer or older. One that somebody erased stays in it.
func (t Transaction) forgetReplaced(ctx context.Context) error {
	done, err := t.recorded()
	if err != nil {
		return err
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	there := func(p nevra.NEVRA) bool { return have[p.String()] }
	left := slices.DeleteFunc(slices.Clone(done.Packages), func(old nevra.NEVRA) bool {
		return !there(old) && slices.ContainsFunc(done.Packages, func(p nevra.NEVRA) bool { return there(p) && old.ReplacedBy(p) })
	})
	if len(left) == len(done.Packages) {
		return nil
	}
	done.Packages = left
	return host.WriteJSON(t.recordPath(), done)
}

// Brought are the packages that Run has installed on the host with this StateDir, as
// it left them.
func Brought(stateDir string) ([]nevra.NEVRA, error) {
	done, err := Transaction{StateDir: stateDir}.recorded()
	return done.Packages, err
}

// remember adds to the record what is not there before.
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
	ring, err := ReadKeyring(slices.Collect(maps.Values(t.Keys))...)
	if err != nil {
		return err
	}
	for _, e := range ring.entities {
		key := fmt.Sprintf("gpg-pubkey-%08x-%08x", uint32(e.PrimaryKey.KeyId), e.PrimaryKey.CreationTime.Unix())
		if !before[installedKey(key)] && !slices.Contains(done.Keys, key) {
			done.Keys = append(done.Keys, key)
		}
	}
	slices.Sort(done.Keys)
	return host.WriteJSON(t.recordPath(), done)
}

// installedKey is how a key looks in the list of installed packages.
func installedKey(key string) string {
	id, created := key[len("gpg-pubkey-"):len(key)-9], key[len(key)-8:]
	return fmt.Sprintf("gpg-pubkey-0:%s-%s.(none)", id, created)
}
