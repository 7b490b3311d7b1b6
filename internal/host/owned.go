package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// Owned is a directory that belongs to another user of this host, in which root
// works. That user can rename, link and replace everything below it at any time, so
// a path there proves nothing. Names are resolved inside the directory and never
// lead out of it. Opened files must be regular files of that user. Files that root
// creates there go to the user through the open file. A process of the user
// itself may use it as well.
type Owned struct {
	*os.Root

	uid, gid int
}

// OpenOwned opens the directory of another user. The path to it must be root's.
func OpenOwned(dir string) (*Owned, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	o := &Owned{Root: root, uid: -1, gid: -1}
	if owner, is := info.Sys().(*syscall.Stat_t); is {
		o.uid, o.gid = int(owner.Uid), int(owner.Gid)
	}
	return o, nil
}

// Foreign reports whether the directory belongs to another user than this process.
func (o *Owned) Foreign() bool { return o.uid != os.Geteuid() }

// Open opens a regular file for reading. It does not wait for the writer of a FIFO.
// In another user's directory a file of a third user is refused: it is a hard link.
func (o *Owned) Open(name string) (*os.File, error) {
	f, err := o.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, o.explain(name, err)
	}
	if err := o.plain(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: f.Name(), Err: err}, f.Close())
	}
	return f, nil
}

func (o *Owned) plain(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file (%s)", info.Mode().Type())
	}
	if owner, is := info.Sys().(*syscall.Stat_t); is && o.Foreign() && int(owner.Uid) != o.uid {
		return fmt.Errorf("it belongs to user %d, its directory to user %d: refusing to read a link to another user's file", owner.Uid, o.uid)
	}
	return nil
}

// explain adds the whole path, and explains os.Root's "path escapes".
func (o *Owned) explain(name string, err error) error {
	if p, is := errors.AsType[*fs.PathError](err); is {
		err = p.Err
	}
	if _, errno := errors.AsType[syscall.Errno](err); !errno && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrClosed) {
		err = fmt.Errorf("a symbolic link leads out of %s: %w", o.Name(), err)
	}
	return &fs.PathError{Op: "open", Path: path.Join(o.Name(), name), Err: err}
}

// ReadFile reads a file of at most limit bytes.
func (o *Owned) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := o.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("larger than %d bytes", limit)}
	}
	return data, err
}

// Write puts a file of that user at name, atomically and durably as WriteFile does.
// Missing directories are made, and are that user's too.
func (o *Owned) Write(name string, perm fs.FileMode, content func(io.Writer) error) error {
	if err := o.write(name, perm, content); err != nil {
		return fmt.Errorf("write %s: %w", path.Join(o.Name(), name), err)
	}
	return nil
}

func (o *Owned) write(name string, perm fs.FileMode, content func(io.Writer) error) error {
	dir := path.Dir(name)
	if err := o.makeDirs(dir); err != nil {
		return err
	}
	draft := Draft(name)
	if err := IgnoreMissing(o.Remove(draft)); err != nil {
		return err
	}
	f, err := o.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = o.Remove(draft) }()
	settle := func(f *os.File) error { return errors.Join(o.handOver(f), f.Chmod(perm)) }
	if err := fill(f, content, settle); err != nil {
		return err
	}
	if err := o.Rename(draft, name); err != nil {
		return err
	}
	d, err := o.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDirs creates the missing parts of a directory path for that user.
func (o *Owned) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := o.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	err := o.Mkdir(dir, 0o750)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := o.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if !made {
		return nil
	}
	return o.handOver(f)
}

// handOver gives the created file to the user, and no file that replaced it.
func (o *Owned) handOver(f *os.File) error {
	if !o.Foreign() || o.uid < 0 {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if owner, is := info.Sys().(*syscall.Stat_t); !is || int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("hand %s to its user: something else is in its place", f.Name())
	}
	return f.Chown(o.uid, o.gid)
}

// Delete removes a file, or a directory with its contents. A missing one is no error.
func (o *Owned) Delete(name string) error { return o.RemoveAll(name) }
