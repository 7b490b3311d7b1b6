package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Fetch copies a backup from a medium that is not this host's into the empty directory into,
// decrypts it there where it is encrypted, and opens the copy. The medium is read once, and each
// file is compared with the signed sums before its bytes are used. by gives the identities; it
// is called for an encrypted backup alone.
func Fetch(ctx context.Context, dir, into string, t Trust, by func(context.Context) ([]age.Identity, error)) (*Contents, error) {
	c := &Contents{Dir: filepath.Clean(dir), at: filepath.Clean(dir)}
	if err := c.fetch(ctx, into, t, by); err != nil {
		return nil, fmt.Errorf("open backup %s: %w", dir, err)
	}
	return c, nil
}

func (c *Contents) fetch(ctx context.Context, into string, t Trust, by func(context.Context) ([]age.Identity, error)) error {
	if err := c.list(t); err != nil {
		return err
	}
	copied := filepath.Join(into, "copied")
	for _, name := range slices.Sorted(maps.Keys(c.sums)) {
		if err := c.copyFile(ctx, name, copied); err != nil {
			return err
		}
	}
	c.at = copied
	if !c.Sealed() {
		return c.identify()
	}
	identities, err := by(ctx)
	if err != nil {
		return err
	}
	opened := filepath.Join(into, "opened")
	if err := unseal(ctx, filepath.Join(copied, sealedName), opened, identities); err != nil {
		return fmt.Errorf("decrypt %s: %w", sealedName, err)
	}
	if err := os.Remove(filepath.Join(copied, sealedName)); err != nil { // its room is needed
		return err
	}
	c.at = opened
	if err := c.list(t); err != nil { // it was signed before it was encrypted
		return err
	}
	return c.identify()
}

// copyFile copies one file and compares it with its checksum.
func (c *Contents) copyFile(ctx context.Context, name, into string) error {
	f, err := c.reach(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	to := filepath.Join(into, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	free, err := host.FreeSpace(filepath.Dir(to))
	if err != nil {
		return err
	}
	if info.Size()+reserve > free {
		return fmt.Errorf("%s has %s free: the copy of %s takes %s, and %s should stay free", into, ui.Size(free), name, ui.Size(info.Size()), ui.Size(reserve))
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), &interruptible{ctx, io.LimitReader(f, info.Size())})
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return c.compare(name, hex.EncodeToString(sum.Sum(nil)))
}

// interruptible ends with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}
