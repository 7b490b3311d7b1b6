package bundle

import (
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

	"airgap.dev/airgap/internal/host"
)

// work is the right to write into a directory, and its unfinished parts.
type work struct {
	dir     string
	draft   *Index
	resumed bool // by the same lock
	mark    *os.File
	target  *target
}

// enter finds out what dir holds, marks it as unfinished, and opens its
// parts. It returns nil where the bundle is complete already. Where it
// refuses, dir is left as it was, or not made.
func enter(dir string, draft *Index, stick []StickFile, o Options) (*work, error) {
	w := &work{dir: dir, draft: draft}
	begin := w.fresh
	if _, err := os.Stat(filepath.Join(dir, partialName)); err == nil {
		begin = w.resume
	}
	complete, err := begin(stick, o)
	if err == nil && !complete {
		w.target, err = openTarget(dir, draft.Parts, o.PartSize)
	}
	if err != nil {
		return nil, errors.Join(err, w.leave())
	}
	if complete {
		return nil, nil
	}
	return w, nil
}

// fresh begins in a directory without a mark.
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

// resume goes on in a directory with a mark.
func (w *work) resume(stick []StickFile, o Options) (complete bool, err error) {
	if err := w.takeMark(); err != nil {
		return false, err
	}
	if err := checkForeign(w.dir, w.draft, stick); err != nil {
		return false, err
	}
	return false, checkSpace(w.dir, w.draft, stick, o.free)
}

// takeMark locks the mark against a second airgap, and writes into it, or
// finds there, what the directory is going to hold.
func (w *work) takeMark() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	mark, err := openToWrite(filepath.Join(w.dir, partialName))
	if err != nil {
		return err
	}
	w.mark = mark
	if err := unix.Flock(int(mark.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another airgap is writing there: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(mark, MaxIndex))
	if err != nil {
		return err
	}
	var before Index
	if json.Unmarshal(text, &before) != nil {
		return w.writeMark() // torn before any part was begun
	}
	if why := difference(&before, w.draft); why != "" {
		return fmt.Errorf("it holds an unfinished bundle of something else (%s): finish that one, remove the directory, or choose another", why)
	}
	w.resumed = true
	return nil
}

func (w *work) writeMark() error {
	text, err := json.Marshal(w.draft)
	if err != nil {
		return err
	}
	if err := w.mark.Truncate(0); err != nil {
		return err
	}
	if _, err := w.mark.WriteAt(text, 0); err != nil {
		return err
	}
	if err := w.mark.Sync(); err != nil {
		return err
	}
	return host.SyncDir(w.dir)
}

// leave closes everything and keeps what is there.
func (w *work) leave() error {
	var errs []error
	if w.target != nil {
		errs = append(errs, w.target.close())
	}
	if w.mark != nil {
		errs = append(errs, w.mark.Close())
	}
	return errors.Join(errs...)
}

// checkForeign refuses a directory with other people's files. What file
// systems and desktops leave behind is not counted.
func checkForeign(dir string, draft *Index, stick []StickFile) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours := []string{partialName, IndexName, SumsName, SignatureName}
	for _, p := range draft.Parts {
		ours = append(ours, p.Name)
	}
	for _, f := range stick {
		ours = append(ours, f.Name)
	}
	for _, e := range entries {
		name := e.Name()
		if name == "lost+found" || name == "System Volume Information" || strings.HasPrefix(name, ".Trash") {
			continue
		}
		if !slices.Contains(ours, strings.TrimSuffix(name, ".tmp")) {
			return fmt.Errorf("it holds %s, which is not of this bundle: choose an empty directory", name)
		}
	}
	return nil
}

// refuseLeftParts is for a directory that is neither marked nor finished.
func refuseLeftParts(dir string, draft *Index) error {
	for _, p := range draft.Parts {
		if _, err := os.Lstat(filepath.Join(dir, p.Name)); err == nil {
			return fmt.Errorf("it holds %s of a bundle that is neither finished nor marked as unfinished: remove it, or choose an empty directory", p.Name)
		}
	}
	return nil
}

// isComplete reports whether dir is this very bundle, finished.
func isComplete(dir string, draft *Index, stick []StickFile, o Options) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, IndexName)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	b, err := Open(dir, &o.Signer.PublicKey)
	if err != nil {
		return false, fmt.Errorf("it holds a finished bundle that is not good: %w; remove the directory or choose another", err)
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
		return false, fmt.Errorf("it holds a finished bundle of something else (%s): choose another directory", why)
	}
	return true, nil
}
