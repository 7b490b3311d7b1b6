package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle/disk"
	"airgap.dev/airgap/bundle/prefix"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// work is the permission to write into a directory, and its unfinished parts.
type work struct {
	dir     string
	draft   *Index
	resumed bool // an earlier run with the same lock started it
	mark    *os.File
	// prefixes are in the mark, after the draft.
	prefixes *prefix.Log
	target   *disk.Parts
	noLocks  *host.NoLocksError // nil: the mark is locked
}

// enter checks the contents of dir, marks it as unfinished, and opens its parts. It
// returns nil if the bundle is already complete. If it fails, dir is unchanged or not
// created.
func enter(dir string, draft *Index, stick []StickFile, o Options) (*work, error) {
	w := &work{dir: dir, draft: draft}
	begin := w.fresh
	if _, err := os.Stat(filepath.Join(dir, partialName)); err == nil {
		begin = w.resume
	}
	complete, err := begin(stick, o)
	if err == nil && !complete {
		w.target, err = disk.Open(dir, diskParts(draft.Parts), o.PartSize)
	}
	if err != nil {
		return nil, errors.Join(err, w.leave())
	}
	if complete {
		return nil, nil
	}
	return w, nil
}

// fresh starts in a directory without a mark.
func (w *work) fresh(stick []StickFile, o Options) (complete bool, err error) {
	if complete, err := isComplete(w.dir, w.draft, stick, o); complete || err != nil {
		return complete, err
	}
	if err := checkForeign(w.dir, w.draft, stick); err != nil {
		return false, err
	}
	if err := refuseLeftParts(w.dir, w.draft); err != nil {
		return false, err
	}
	if err := checkSpace(w.dir, w.draft, stick, o.free); err != nil {
		return false, err
	}
	return false, w.takeMark()
}

// resume continues in a directory with a mark.
func (w *work) resume(stick []StickFile, o Options) (complete bool, err error) {
	if err := w.takeMark(); err != nil {
		return false, err
	}
	if err := checkForeign(w.dir, w.draft, stick); err != nil {
		return false, err
	}
	return false, checkSpace(w.dir, w.draft, stick, o.free)
}

// takeMark locks the mark against a second airgap process. It writes the planned
// contents of the directory into it, or compares them.
func (w *work) takeMark() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	mark, err := host.OpenToWrite(filepath.Join(w.dir, partialName))
	if err != nil {
		return err
	}
	w.mark = mark
	if err := host.TryLock(mark, unix.LOCK_EX); errors.Is(err, host.ErrLocked) {
		return advice.Add(errors.New("another airgap process is writing to this directory"), "wait for it; fuser -v %s shows it", mark.Name())
	} else if err != nil && !errors.As(err, &w.noLocks) {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(mark, MaxIndex))
	if err != nil {
		return err
	}
	var before Index
	marked := json.NewDecoder(bytes.NewReader(text))
	if marked.Decode(&before) != nil {
		return w.writeMark() // incomplete, so no part was started
	}
	if why := difference(&before, w.draft); why != "" {
		return fmt.Errorf("the directory has another unfinished bundle (%s): finish that bundle, remove the directory, or choose another directory", why)
	}
	w.resumed, w.prefixes = true, prefix.Read(mark, text, marked.InputOffset())
	return nil
}

// warn reports a file system without locks, which is no reason to refuse the directory.
func (w *work) warn(progress ui.Progress) {
	if w.noLocks != nil {
		progress.Say("warning: %v; do not run a second airgap bundle for %s at the same time", w.noLocks, w.dir)
	}
}

func (w *work) writeMark() error {
	text, err := json.Marshal(w.draft)
	if err != nil {
		return err
	}
	if err := w.mark.Truncate(0); err != nil {
		return err
	}
	w.prefixes = prefix.Read(w.mark, text, int64(len(text)))
	if _, err := w.mark.WriteAt(text, 0); err != nil {
		return err
	}
	if err := w.mark.Sync(); err != nil {
		return err
	}
	return host.SyncDir(w.dir)
}

// leave closes everything and keeps the files.
func (w *work) leave() error {
	var errs []error
	if w.target != nil {
		errs = append(errs, w.target.Close())
	}
	if w.mark != nil {
		errs = append(errs, w.mark.Close())
	}
	return errors.Join(errs...)
}

// checkForeign refuses a directory with foreign files. It ignores files of file systems
// and desktops.
func checkForeign(dir string, draft *Index, stick []StickFile) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours := []string{partialName, IndexName, SumsName, SignatureName, CosignaturesName}
	for _, p := range draft.Parts {
		ours = append(ours, p.Name)
	}
	for _, f := range stick {
		ours = append(ours, f.Name)
	}
	for _, e := range entries {
		name := e.Name()
		if altered.IsJunk(name) {
			continue
		}
		if !slices.Contains(ours, strings.TrimSuffix(name, ".tmp")) {
			return fmt.Errorf("the directory has %s, which does not belong to this bundle: choose an empty directory", name)
		}
	}
	return nil
}

// refuseLeftParts is for a directory without a mark and without a finished bundle.
func refuseLeftParts(dir string, draft *Index) error {
	for _, p := range draft.Parts {
		if _, err := os.Lstat(filepath.Join(dir, p.Name)); err == nil {
			return fmt.Errorf("the directory has %s of a bundle that is not finished and not marked as unfinished: remove it, or choose an empty directory", p.Name)
		}
	}
	return nil
}

// isComplete reports whether dir has this bundle, finished.
func isComplete(dir string, draft *Index, stick []StickFile, o Options) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, IndexName)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	b, err := Open(dir, PublicOf(o.Signer))
	if err != nil {
		return false, fmt.Errorf("the directory has a finished bundle that is damaged: %w; remove the directory or choose another", err)
	}
	defer b.Close()
	why := difference(b.index, draft)
	for _, f := range stick {
		sum, err := f.hash()
		if err != nil {
			return false, err
		}
		if why == "" && b.sums[f.Name] != sum {
			why = f.Name + " differs"
		}
	}
	if why != "" {
		return false, fmt.Errorf("the directory has another finished bundle (%s): choose another directory", why)
	}
	return true, b.restore(stick)
}

// restore writes the files next to the parts again that were removed or altered since.
func (b *Bundle) restore(stick []StickFile) error {
	for _, f := range stick {
		if own, err := b.Own(f.Name); err == nil {
			own.Close()
		} else if _, err := f.writeTo(b.dir); err != nil {
			return fmt.Errorf("write %s to the bundle again: %w", f.Name, err)
		}
	}
	return nil
}

func diskParts(parts []Part) []disk.Part {
	all := make([]disk.Part, len(parts))
	for i, p := range parts {
		all[i] = disk.Part{Name: p.Name, Size: p.Size}
	}
	return all
}
