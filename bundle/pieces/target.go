package pieces

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// journalName is a file in the target while pieces are missing: the manifest, and a line for each piece that is there.
const journalName = ".airgap-unpack"

// parityName is the name of a parity piece in the target.
func parityName(n int) string { return fmt.Sprintf("%s-parity-%d", journalName, n+1) }

// unpacker writes the files of a set below temporary names. Nothing is written outside of its root.
type unpacker struct {
	options UnpackOptions
	m       *manifest
	root    *os.Root
	journal *os.File
	target  *stream
	have    map[int]bool
	already bool // the bundle was complete before

	parityFile  *os.File
	parityPiece int

	recovered   int
	lost        []int // missing pieces, from 1
	finishedAll bool
}

// draftName is the name of a file until the set is complete.
func draftName(f file) string { return f.Name + temporary }

// resume opens the target, and reads the journal of an earlier run.
func (u *unpacker) resume() (err error) {
	u.have = map[int]bool{}
	if err := os.MkdirAll(u.options.Dir, 0o755); err != nil {
		return err
	}
	if u.root, err = os.OpenRoot(u.options.Dir); err != nil {
		return err
	}
	u.journal, err = u.root.OpenFile(journalName, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		u.journal = nil
		return nil
	}
	if err != nil {
		return err
	}
	if err := u.lock(); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(u.journal, 2*maxManifest)
	text, err := lines.ReadSlice('\n')
	if err != nil {
		return u.forget() // a crash at its creation: no piece was written
	}
	m, err := parseManifest(bytes.Clone(bytes.TrimSuffix(text, []byte("\n"))))
	if err != nil {
		return advice.Add(fmt.Errorf("read %s: %w", journalName, err), "remove the directory %s, and unpack all pieces again", u.options.Dir)
	}
	if u.options.Set != "" && u.options.Set != m.ID() {
		return advice.Add(fmt.Errorf("the directory has pieces of set %s", m.ID()), "choose an empty directory for set %s", u.options.Set)
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // the end, or a torn line
			break
		}
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= m.count() {
			u.have[n-1] = true
		}
	}
	u.adopt(m)
	_, err = u.journal.Seek(0, io.SeekEnd)
	return err
}

func (u *unpacker) adopt(m *manifest) {
	u.m, u.target = m, newStream(m, u.root, os.O_RDWR, draftName)
}

func (u *unpacker) lock() error {
	if err := unix.Flock(int(u.journal.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return advice.Add(errors.New("another airgap unpack writes to this directory"), "wait for its end")
	}
	return nil // a file system without locks
}

func (u *unpacker) forget() error {
	err := errors.Join(u.journal.Close(), u.root.Remove(journalName))
	u.journal = nil
	return err
}

// begin starts a set in a directory without a journal.
func (u *unpacker) begin(ctx context.Context, m *manifest) error {
	u.adopt(m)
	entries, err := fs.ReadDir(u.root.FS(), ".")
	if err != nil {
		return err
	}
	ours := 0
	for _, f := range m.Files {
		if info, err := u.root.Lstat(f.Name); err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
			ours++
		}
	}
	if ours == len(m.Files) {
		return u.isComplete(ctx)
	}
	for _, e := range entries {
		if name := e.Name(); name != "lost+found" && name != "System Volume Information" && !strings.HasPrefix(name, ".Trash") {
			return advice.Add(fmt.Errorf("the directory has %s, which does not belong to the unpacking of this set", name), "choose an empty directory")
		}
	}
	if free, err := host.FreeSpace(u.options.Dir); err == nil && free < m.total {
		return advice.Add(fmt.Errorf("%s has %s free, the bundle needs %s", u.options.Dir, ui.Size(free), ui.Size(m.total)), "choose a directory with more free space")
	}
	for _, f := range m.Files {
		draft, err := u.root.OpenFile(draftName(f), os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(f))
		if err != nil {
			return err
		}
		if err := draft.Close(); err != nil {
			return err
		}
	}
	if u.journal, err = u.root.OpenFile(journalName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return err
	}
	if err := u.lock(); err != nil {
		return err
	}
	if _, err := u.journal.Write(append(bytes.Clone(m.text), '\n')); err != nil {
		return err
	}
	return errors.Join(u.journal.Sync(), host.SyncDir(u.options.Dir))
}

// modeOf is the mode of a file in the bundle's directory: it has no secrets, and one program.
func modeOf(f file) fs.FileMode {
	if f.Name == bundle.ProgramName {
		return 0o755
	}
	return 0o644
}

// isComplete verifies a directory that has all files.
func (u *unpacker) isComplete(ctx context.Context) error {
	for _, f := range u.m.Files {
		if same, err := u.matches(ctx, f.Name, f, nil); err != nil || !same {
			return errors.Join(err, advice.Add(fmt.Errorf("%s in the directory differs from the pieces", f.Name), "choose an empty directory"))
		}
	}
	u.already = true
	for n := range u.m.count() {
		u.have[n] = true
	}
	return nil
}

// put writes bytes of piece n, which are not verified yet. The journal does not have the piece then.
func (u *unpacker) put(n int, p []byte, at int64) error {
	if n >= u.m.data() {
		return u.putParity(n, p, at)
	}
	from, _ := u.m.span(n)
	_, err := u.target.WriteAt(p, from+at)
	return err
}

// finished makes a verified piece durable, and notes it.
func (u *unpacker) finished(_ context.Context, n int) error {
	err := u.target.sync()
	if err == nil && n >= u.m.data() {
		err = u.parityFile.Sync()
	}
	if err != nil {
		return err
	}
	return u.note(n)
}

func (u *unpacker) note(n int) error {
	if _, err := fmt.Fprintf(u.journal, "%d\n", n+1); err != nil {
		return err
	}
	u.have[n] = true
	return u.journal.Sync()
}

func (u *unpacker) putParity(n int, p []byte, at int64) error {
	if err := u.openParity(n, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	_, err := u.parityFile.WriteAt(p, at)
	return err
}

func (u *unpacker) readParity(n int, at int64, p []byte) error {
	if err := u.openParity(n, os.O_RDWR); err != nil {
		return err
	}
	_, err := u.parityFile.ReadAt(p, at)
	return err
}

// openParity keeps one parity file open.
func (u *unpacker) openParity(n, flags int) (err error) {
	if u.parityFile != nil && u.parityPiece == n {
		return nil
	}
	if u.parityFile != nil {
		if err := u.parityFile.Close(); err != nil {
			return err
		}
	}
	u.parityPiece = n
	u.parityFile, err = u.root.OpenFile(parityName(n), flags|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		u.parityFile = nil
	}
	return err
}

// complete verifies every file, and then gives all of them their names; bundle.json comes last, because it makes the
// directory a bundle.
func (u *unpacker) complete(ctx context.Context) error {
	if err := u.verify(ctx); err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, f := range u.m.Files {
			if (f.Name == bundle.IndexName) != last {
				continue
			}
			if err := u.root.Rename(draftName(f), f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if err := host.SyncDir(u.options.Dir); err != nil {
		return err
	}
	for n := u.m.data(); n < u.m.count(); n++ {
		if err := u.root.Remove(parityName(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := u.root.Remove(journalName); err != nil {
		return err
	}
	u.finishedAll = true
	return host.SyncDir(u.options.Dir)
}

// verify reads every file; an interrupted run may have renamed some of them.
func (u *unpacker) verify(ctx context.Context) (err error) {
	if err := u.target.close(); err != nil {
		return err
	}
	task := u.options.Progress.Task("verify", u.m.total, true)
	defer func() { task.End(err) }()
	for _, f := range u.m.Files {
		name := draftName(f)
		if _, err := u.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			name = f.Name
		}
		same, err := u.matches(ctx, name, f, task)
		if err == nil && !same {
			err = u.doubt(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) matches(ctx context.Context, name string, f file, task ui.Task) (bool, error) {
	open, err := u.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer open.Close()
	sum, buf, size := sha256.New(), make([]byte, bufferSize), int64(0)
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n, err := open.Read(buf)
		sum.Write(buf[:n])
		size += int64(n)
		if task != nil {
			task.Add(int64(n))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	return size == f.Size && hex.EncodeToString(sum.Sum(nil)) == f.SHA256, nil
}

// doubt takes the pieces of a file out of the journal: one of them has bytes of another file, or the disk is faulty.
func (u *unpacker) doubt(f file) error {
	i := 0
	for u.m.Files[i].Name != f.Name {
		i++
	}
	for n := range u.m.data() {
		from, size := u.m.span(n)
		if from < u.m.start[i]+f.Size && from+size > u.m.start[i] {
			delete(u.have, n)
		}
	}
	for n := u.m.data(); n < u.m.count(); n++ { // the parity pieces may be the wrong ones
		delete(u.have, n)
	}
	lines := append(bytes.Clone(u.m.text), '\n')
	for n := range u.m.count() {
		if u.have[n] {
			lines = fmt.Appendf(lines, "%d\n", n+1)
		}
	}
	if _, err := u.journal.WriteAt(lines, 0); err != nil {
		return err
	}
	if err := errors.Join(u.journal.Truncate(int64(len(lines))), u.journal.Sync()); err != nil {
		return err
	}
	return fmt.Errorf("%s does not have its SHA-256: the disk is faulty, or a piece was not made from this bundle: %w", f.Name, u.missing())
}

func (u *unpacker) close() {
	if u.target != nil {
		u.target.close()
	}
	for _, f := range []*os.File{u.parityFile, u.journal} {
		if f != nil {
			f.Close()
		}
	}
	if u.root != nil {
		u.root.Close()
	}
}
