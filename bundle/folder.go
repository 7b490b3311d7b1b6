package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
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
	info, err := f.root.Lstat(name)
	if err == nil {
		err = wantRegular(name, info)
	}
	if err != nil {
		return nil, err
	}
	return f.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// refuseOthers reports every existing file that is not regular.
func (f folder) refuseOthers(names []string) error {
	var problems []error
	for _, name := range names {
		if info, err := f.root.Lstat(name); err == nil {
			problems = append(problems, wantRegular(name, info))
		}
	}
	return errors.Join(problems...)
}

func wantRegular(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &DamageError{Part: name, Chunk: -1, Cause: "it is " + fileKind(info.Mode()) + ", want a regular file"}
}

func fileKind(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	default:
		return "a device"
	}
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

// openToWrite opens or creates a file in a directory that others can write to. It
// refuses a link, because airgap would write to another place.
func openToWrite(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("write %s: it is a symbolic link, want a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("write %s: it is %s, want a regular file", path, fileKind(info.Mode()))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
