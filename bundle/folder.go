package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
	"airgap.dev/airgap/internal/host"
)

// folder is the directory of a bundle, opened once. It opens only regular files in the
// directory itself: no link, device, FIFO or directory, and no file outside it.
type folder struct{ root *os.Root }

func openFolder(dir string) (folder, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return folder{}, err
	}
	root, err := os.OpenRoot(dir)
	return folder{root}, err
}

// Open checks the type before it opens, because opening a device or a FIFO can have
// effects.
func (f folder) Open(name string) (fs.File, error) {
	if !isPlainName(name) && name != partialName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name != partialName {
		name = f.entry(name)
	}
	info, err := f.root.Lstat(name)
	if err == nil {
		err = wantRegular(name, info)
	}
	if err != nil {
		return nil, err
	}
	return f.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// entry is the name of a file in the directory. A file system or a gate may have changed its case: the
// signature covers the content, so that the name does not matter.
func (f folder) entry(name string) string {
	if _, err := f.root.Lstat(name); err == nil {
		return name
	}
	return cmp.Or(altered.Find(f.entries(), name), name)
}

func (f folder) entries() (names []string) {
	entries, _ := fs.ReadDir(f.root.FS(), ".") // the caller reports the file that it does not find
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Renamed returns the names in the directory that a medium or a gate has changed.
func (b *Bundle) Renamed() (changed []string) {
	source, is := b.source.(folder)
	for _, name := range b.Names() {
		if is && source.entry(name) != name {
			changed = append(changed, source.entry(name))
		}
	}
	return changed
}

// noBundle adds to ErrNoBundle that the names are cut.
func (f folder) noBundle(err error) error {
	if cut := altered.Cut(f.entries(), IndexName); cut != "" && errors.Is(err, ErrNoBundle) {
		return advice.Add(fmt.Errorf("%w, and %s is its name cut to 8.3 characters", err, cut),
			"write the medium again with long names: xorriso -as mkisofs -iso-level 3 -R -J -o FILE.iso DIR; see airgap docs walkthrough")
	}
	return err
}

// refuseOthers reports every existing file that is not regular.
func (f folder) refuseOthers(names []string) error {
	var problems []error
	for _, name := range names {
		if info, err := f.root.Lstat(f.entry(name)); err == nil {
			problems = append(problems, wantRegular(name, info))
		}
	}
	return errors.Join(problems...)
}

func wantRegular(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &DamageError{Part: name, Chunk: -1, Cause: "it is " + host.FileKind(info.Mode()) + ", want a regular file"}
}

// ownFile is an open file in the directory of a bundle.
type ownFile interface {
	fs.File
	io.ReaderAt
}

// openRegular opens a file of source, for any kind of source.
func openRegular(source fs.FS, name string) (ownFile, int64, error) {
	f, err := source.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = wantRegular(name, info)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	own, random := f.(ownFile)
	if !random {
		return nil, 0, errors.Join(fmt.Errorf("open %s: random access is not supported", name), f.Close())
	}
	return own, info.Size(), nil
}

// readLimited reads a file that no signature covers yet.
func readLimited(source fs.FS, name string, limit int64) ([]byte, error) {
	f, size, err := openRegular(source, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if max(size, int64(len(data))) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes", name, limit)
	}
	return data, nil
}

// hashFile reads at most limit bytes.
func hashFile(source fs.FS, name string, limit int64) (string, error) {
	f, size, err := openRegular(source, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if size > limit {
		return "", fmt.Errorf("read %s: larger than %d bytes", name, limit)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, limit)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
