package rpm

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

// A power cut in the middle of a transaction leaves packages that the rpm
// database calls installed though the scripts at the transaction's end never
// ran, a SELinux policy not loaded for instance, and files under rpm's
// temporary names. So what a transaction is about to install is written down,
// and the mark goes when dnf is through with it, also when airgap was killed
// meanwhile: the shell that runs dnf takes it away. A mark that is still there
// says that the transaction was cut; it is then kept under another name until
// all is mended.

func (t Transaction) begunPath() string { return filepath.Join(t.StateDir, "begun.json") }
func (t Transaction) cutPath() string   { return filepath.Join(t.StateDir, "cut.json") }

// transact has dnf install or reinstall packages.
func (t Transaction) transact(ctx context.Context, verb string, packages []nevra.NEVRA) error {
	if err := host.WriteJSON(t.begunPath(), packages); err != nil {
		return err
	}
	unmark := []string{"sh", "-c", `"$@" && rm -f "$0"`, t.begunPath()}
	return t.dnfIn(ctx, t.StateDir, unmark, append([]string{"-y", verb}, names(packages)...)...)
}

// cut reports whether dnf began a transaction and did not end it.
func (t Transaction) cut() bool {
	for _, mark := range []string{t.begunPath(), t.cutPath()} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}

// repair installs again what transactions that were cut had installed by then.
func (t Transaction) repair(ctx context.Context) error {
	if !t.cut() {
		return nil
	}
	begun, err := t.wasCut()
	if err != nil {
		return err
	}
	if err := host.WriteJSON(t.cutPath(), begun); err != nil {
		return err
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	if err := t.dropDoubles(ctx, begun, have); err != nil {
		return err
	}
	again := slices.DeleteFunc(begun, func(p nevra.NEVRA) bool { return !have[p.String()] })
	if len(again) == 0 {
		return nil
	}
	if err := t.reinstall(ctx, again); err != nil {
		return fmt.Errorf("install again what dnf had installed when it was cut: %w", err)
	}
	return nil
}

// dropDoubles erases those of our own packages whose place a transaction that was cut
// had given to another build: rpm installs the new one before it erases the old one.
func (t Transaction) dropDoubles(ctx context.Context, begun []nevra.NEVRA, have map[string]bool) error {
	var old []nevra.NEVRA
	for _, n := range t.Own {
		if have[n.String()] && slices.ContainsFunc(begun, func(p nevra.NEVRA) bool { return have[p.String()] && n.ReplacedBy(p) }) {
			old = append(old, n)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if _, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-e"}, rpmNames(old)...), Log: t.Log}); err != nil {
		return fmt.Errorf("erase packages that others had replaced when dnf was cut: %w", err)
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

// sweep removes what the transactions that were cut left of their packages'
// files, now that these are installed, and then the marks.
func (t Transaction) sweep(ctx context.Context) error {
	if !t.cut() {
		return nil
	}
	begun, err := t.wasCut()
	if err != nil {
		return err
	}
	out, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-q", "--qf", `[%{FILENAMES}\n]`}, rpmNames(begun)...)})
	if err != nil {
		return fmt.Errorf("list the files of the transaction that was cut: %w", err)
	}
	files := map[string]bool{}
	for file := range strings.Lines(string(out)) {
		files[strings.TrimSpace(file)] = true
	}
	if err := t.removeHalves(files); err != nil {
		return fmt.Errorf("remove what the transaction that was cut left: %w", err)
	}
	return errors.Join(host.Remove(t.begunPath()), host.Remove(t.cutPath()))
}

// half is the name that rpm gives to a file until it is whole.
var half = regexp.MustCompile(`^(.+);[0-9a-f]{8}$`)

func (t Transaction) removeHalves(files map[string]bool) error {
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
			whole := half.FindStringSubmatch(e.Name())
			if whole == nil || !files[filepath.Join(dir, whole[1])] {
				continue
			}
			if err := os.Remove(filepath.Join("/", t.Root, dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// wasCut are the packages of all transactions that were cut.
func (t Transaction) wasCut() ([]nevra.NEVRA, error) {
	var all []nevra.NEVRA
	for _, mark := range []string{t.begunPath(), t.cutPath()} {
		some, err := host.ReadJSON[[]nevra.NEVRA](mark)
		if err != nil {
			return nil, fmt.Errorf("read which transaction was cut: %w", err)
		}
		for _, p := range some {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}
