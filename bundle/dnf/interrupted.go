package dnf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// If the power fails during a transaction, the rpm database lists packages as
// installed although the scripts at the end of the transaction did not run (for
// example, a SELinux policy is not loaded). Files with rpm's temporary names
// remain too. So airgap writes the packages of a transaction to a file before it
// starts dnf. The shell that runs dnf removes this file afterwards, even if airgap
// was killed. If the file exists at the next run, the transaction was interrupted.
// airgap then keeps the list under another name until the repair is complete.

func (t Transaction) startedPath() string     { return filepath.Join(t.StateDir, "begun.json") }
func (t Transaction) interruptedPath() string { return filepath.Join(t.StateDir, "cut.json") }

// transact installs or reinstalls packages with dnf.
func (t Transaction) transact(ctx context.Context, verb string, packages []nevra.NEVRA) error {
	if err := host.WriteJSON(t.startedPath(), packages); err != nil {
		return err
	}
	unmark := []string{"sh", "-c", `"$@" && rm -f "$0"`, t.startedPath()}
	return t.dnfIn(ctx, t.StateDir, unmark, append([]string{"-y", verb}, names(packages)...)...)
}

// interrupted reports whether dnf started a transaction and did not complete it.
func (t Transaction) interrupted() bool {
	for _, mark := range []string{t.startedPath(), t.interruptedPath()} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}

// repair reinstalls the packages that interrupted transactions had installed.
func (t Transaction) repair(ctx context.Context) error {
	if !t.interrupted() {
		return nil
	}
	started, err := t.started()
	if err != nil {
		return err
	}
	if err := host.WriteJSON(t.interruptedPath(), started); err != nil {
		return err
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	if err := t.dropDuplicates(ctx, started, have); err != nil {
		return err
	}
	again := slices.DeleteFunc(started, func(p nevra.NEVRA) bool { return !have[p.String()] })
	if len(again) == 0 {
		return nil
	}
	if err := t.reinstall(ctx, again); err != nil {
		return fmt.Errorf("reinstall the packages of the interrupted dnf transaction: %w", err)
	}
	return nil
}

// dropDuplicates erases the packages of Own that an interrupted transaction had already
// replaced: rpm installs the new build before it erases the old one.
func (t Transaction) dropDuplicates(ctx context.Context, started []nevra.NEVRA, have map[string]bool) error {
	var old []nevra.NEVRA
	for _, n := range t.Own {
		if have[n.String()] && slices.ContainsFunc(started, func(p nevra.NEVRA) bool { return have[p.String()] && n.ReplacedBy(p) }) {
			old = append(old, n)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if _, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-e"}, rpmNames(old)...), Log: t.Log}); err != nil {
		return fmt.Errorf("erase the packages that the interrupted dnf transaction had replaced: %w", err)
	}
	return nil
}

func (t Transaction) reinstall(ctx context.Context, packages []nevra.NEVRA) error {
	if err := t.configure(); err != nil {
		return err
	}
	if err := t.dnf(ctx, "-y", "makecache"); err != nil {
		return err
	}
	return t.transact(ctx, "reinstall", packages)
}

// cleanUp removes the partial files of interrupted transactions after their packages
// are installed, and then the records of the transactions.
func (t Transaction) cleanUp(ctx context.Context) error {
	if !t.interrupted() {
		return nil
	}
	started, err := t.started()
	if err != nil {
		return err
	}
	out, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-q", "--qf", `[%{FILENAMES}\n]`}, rpmNames(started)...)})
	if err != nil {
		return fmt.Errorf("list the files of the interrupted dnf transaction: %w", err)
	}
	files := map[string]bool{}
	for file := range strings.Lines(string(out)) {
		files[strings.TrimSpace(file)] = true
	}
	if err := t.removePartial(files); err != nil {
		return fmt.Errorf("remove the partial files of the interrupted dnf transaction: %w", err)
	}
	return errors.Join(host.Remove(t.startedPath()), host.Remove(t.interruptedPath()))
}

// partial matches rpm's name of a file that is not yet complete.
var partial = regexp.MustCompile(`^(.+);[0-9a-f]{8}$`)

func (t Transaction) removePartial(files map[string]bool) error {
	dirs := map[string]bool{}
	for file := range files {
		dirs[filepath.Dir(file)] = true
	}
	for dir := range dirs {
		entries, err := os.ReadDir(filepath.Join("/", t.Root, dir))
		if host.IgnoreMissing(err) != nil {
			return err
		}
		for _, e := range entries {
			found := partial.FindStringSubmatch(e.Name())
			if found == nil || !files[filepath.Join(dir, found[1])] {
				continue
			}
			if err := os.Remove(filepath.Join("/", t.Root, dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// started returns the packages of all interrupted transactions.
func (t Transaction) started() ([]nevra.NEVRA, error) {
	var all []nevra.NEVRA
	for _, mark := range []string{t.startedPath(), t.interruptedPath()} {
		some, err := host.ReadJSON[[]nevra.NEVRA](mark)
		if err != nil {
			return nil, fmt.Errorf("read the record of the interrupted dnf transaction: %w", err)
		}
		for _, p := range some {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}
