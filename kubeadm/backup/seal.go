package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"airgap.dev/airgap/internal/host"
)

// sealedName is the whole of an encrypted backup: age, and in it a tar of the files.
const sealedName = "backup.tar.age"

// seal writes the plain backup in dir, encrypted, to file.
func seal(dir, file string, to []age.Recipient) error {
	return host.Write(file, 0o600, func(w io.Writer) error {
		encrypted, err := age.Encrypt(w, to...)
		if err != nil {
			return err
		}
		files := tar.NewWriter(encrypted)
		if err := addTree(files, dir); err != nil {
			return err
		}
		return errors.Join(files.Close(), encrypted.Close())
	})
}

func addTree(to *tar.Writer, dir string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if target, err = os.Readlink(name); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		h.Name, h.Uname, h.Gname = inside, "", ""
		if err := to.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(name) //nolint:gosec // in a directory that only root may enter
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(to, f)
		return err
	})
}

// unseal decrypts file into the new directory dir. Links stay out: restore uses none. A tar
// that would take more room than its file, as a sparse one, is refused.
func unseal(ctx context.Context, file, dir string, by []age.Identity) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	plain, err := age.Decrypt(f, by...)
	if err != nil {
		return notFor(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	if err := unpack(ctx, tar.NewReader(plain), into, info.Size()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, plain) // age vouches for the end, too
	return err
}

// notFor returns the number of identities that age tried, without their content.
func notFor(err error) error {
	if _, is := errors.AsType[*age.NoIdentityMatchError](err); is {
		return ErrIdentity
	}
	return err
}

// ErrIdentity is a backup that was encrypted to others.
var ErrIdentity = errors.New("it is encrypted to other recipients than this identity's")

func unpack(ctx context.Context, from *tar.Reader, into *os.Root, room int64) error {
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeSymlink:
			continue
		case tar.TypeReg:
		default:
			return fmt.Errorf("%q is no file", h.Name)
		}
		if room -= h.Size; room < 0 {
			return fmt.Errorf("%q is larger than the backup", h.Name)
		}
		if err := unpackFile(from, into, h.Name); err != nil {
			return err
		}
	}
}

func unpackFile(from io.Reader, into *os.Root, name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q leads out of the backup", name)
	}
	if err := into.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := into.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
