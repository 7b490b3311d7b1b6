package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/jointoken"
)

// Contents is a backup that is to be used.
type Contents struct {
	Dir     string    // as the operator names it
	Taken   time.Time // UTC; zero if it is neither in the backup nor in its directory's name
	Cluster string    // its name in airgap.yaml; "" if the backup does not contain it
	kubeadm.Identity
	// Sums is the SHA-256, in hexadecimal digits, of SHA256SUMS: it stands for all
	// that is in the backup.
	Sums string

	at   string            // where the files are
	sums map[string]string // of each file, by its name
}

// Limits in bytes: of data that is read before the signature is checked, and of a file that is read
// into memory.
const (
	maxSums      = 16 << 20
	maxSignature = 1 << 10
	maxPublic    = 64 << 10
	maxFile      = 256 << 20
)

// Open checks the signature of a backup and reads its metadata. The signature covers
// the list and the contents of its files: Check compares them.
func Open(dir string, t Trust) (*Contents, error) {
	c := &Contents{Dir: filepath.Clean(dir), at: filepath.Clean(dir)}
	err := c.list(t)
	if err == nil {
		err = c.identify()
	}
	if err != nil {
		return nil, fmt.Errorf("open backup %s: %w", dir, err)
	}
	return c, nil
}

// list reads which files there are. Nothing else is read before the signature was checked.
func (c *Contents) list(t Trust) error {
	text, err := c.read(sumsName, maxSums)
	if err != nil {
		return err
	}
	signature, err := c.read(signatureName, maxSignature)
	if host.IgnoreMissing(err) != nil {
		return err
	}
	public, err := c.read(publicName, maxPublic)
	if host.IgnoreMissing(err) != nil {
		return err
	}
	if err := t.check(text, signature, public); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	c.Sums = hex.EncodeToString(sum[:])
	if c.sums, err = parseSums(text); err != nil {
		return fmt.Errorf("read %s: %w", sumsName, err)
	}
	return nil
}

// identify reads which cluster a plain backup is of, and when it was taken.
func (c *Contents) identify() error {
	if c.Sealed() {
		return ErrSealed
	}
	about, err := c.about()
	if err != nil {
		return err
	}
	c.Taken, c.Cluster = about.Taken, about.Cluster
	if named, err := time.Parse(stamp, filepath.Base(c.Dir)); err == nil && c.Taken.IsZero() {
		c.Taken = named
	}
	c.Identity, err = kubeadm.ReadIdentity(c.File)
	return err
}

// ErrSealed is a backup that is encrypted: Fetch opens it.
var ErrSealed = errors.New("it is encrypted")

// Sealed reports whether the backup is encrypted.
func (c *Contents) Sealed() bool { return c.Has("/" + sealedName) }

// read is a file of at most limit bytes.
func (c *Contents) read(name string, limit int64) ([]byte, error) {
	f, err := c.reach(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %s", name, ui.Size(limit))
	}
	return text, err
}

func (c *Contents) about() (about About, err error) {
	if !c.Has("/" + aboutName) {
		return about, nil
	}
	text, err := c.File("/" + aboutName)
	if err != nil {
		return about, err
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return about, fmt.Errorf("read %s: %w", aboutName, err)
	}
	if about.Format > format {
		return about, fmt.Errorf("its format is %d, and this airgap reads %d: use the airgap that made it, or a newer one", about.Format, format)
	}
	return about, nil
}

// parseSums reads the output of sha256sum. Names must stay inside the directory.
func parseSums(text []byte) (map[string]string, error) {
	sums := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		sum, name, two := strings.Cut(lines.Text(), "  ")
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size || !two || !filepath.IsLocal(name) || sums[name] != "" {
			return nil, fmt.Errorf("%q is no line of it", lines.Text())
		}
		sums[name] = sum
	}
	if len(sums) == 0 {
		return nil, errors.New("it is empty")
	}
	return sums, nil
}

// Has reports whether the host had a file at path that is in the backup.
func (c *Contents) Has(path string) bool { return c.sums[strings.TrimPrefix(path, "/")] != "" }

// File returns the content of a path of the host, checked against
// SHA256SUMS. The error for a missing file is fs.ErrNotExist.
func (c *Contents) File(path string) ([]byte, error) {
	name := strings.TrimPrefix(path, "/")
	if !c.Has(path) {
		return nil, fmt.Errorf("%s: %w in the backup", path, os.ErrNotExist)
	}
	text, err := c.read(name, maxFile)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if err := c.compare(name, hex.EncodeToString(sum[:])); err != nil {
		return nil, err
	}
	return text, nil
}

// reach opens a regular file, never through a link in its own place or out of the backup, and
// without waiting for the other end of a pipe.
func (c *Contents) reach(name string) (*os.File, error) {
	root, err := os.OpenRoot(c.at)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	link, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !link.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(link, info) {
		return nil, errors.Join(fmt.Errorf("%s was exchanged while it was opened", name), err, f.Close())
	}
	return f, nil
}

func (c *Contents) compare(name, sum string) error {
	if sum != c.sums[name] {
		return fmt.Errorf("%s does not match %s: it is damaged", name, sumsName)
	}
	return nil
}

// Snapshot is the file with etcd's snapshot.
func (c *Contents) Snapshot() string { return filepath.Join(c.at, snapshotName) }

// Check reads every byte: each file must match SHA256SUMS, etcd's snapshot must match
// its checksum, and all keys of a control plane must exist, match their
// certificates, and not be expired. more has the paths of further required
// files.
func (c *Contents) Check(ctx context.Context, now time.Time, more ...string) (etcd.SnapshotInfo, error) {
	info, err := c.check(ctx, now, more)
	if err != nil {
		return info, &host.Failure{What: "check backup " + c.Dir, Err: err, Next: "use another backup: each control-plane host takes one a day, and airgap backup --dir may have put copies elsewhere"}
	}
	return info, nil
}

func (c *Contents) check(ctx context.Context, now time.Time, more []string) (info etcd.SnapshotInfo, err error) {
	for name := range c.sums {
		err = errors.Join(err, cmp.Or(ctx.Err(), c.checkFile(name)))
	}
	for _, path := range append([]string{"/" + snapshotName}, more...) {
		if !c.Has(path) {
			err = errors.Join(err, fmt.Errorf("%s is not in it", strings.TrimPrefix(path, "/")))
		}
	}
	if err != nil {
		return info, err
	}
	if _, err := c.Keys(now); err != nil {
		return info, err
	}
	return etcd.ReadSnapshot(c.Snapshot())
}

func (c *Contents) checkFile(name string) error {
	f, err := c.reach(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	return c.compare(name, hex.EncodeToString(sum.Sum(nil)))
}

// Keys are those that a control plane cannot do without, by their paths on the
// host; they fit each other, and are valid now.
func (c *Contents) Keys(now time.Time) (jointoken.ControlPlaneSecrets, error) {
	return kubeadm.SavedKeys(c.File, c.Encrypted, now)
}
