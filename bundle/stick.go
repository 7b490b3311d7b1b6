package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle/rpm"
)

// StickFile is a file next to the parts, listed in SHA256SUMS.
type StickFile struct {
	Name string
	mode fs.FileMode
	size int64
	open func() (io.ReadCloser, error)
}

// Size is the size in bytes.
func (s StickFile) Size() int64 { return s.size }

// StickBytes is a file with this content.
func StickBytes(name string, content []byte) StickFile {
	return StickFile{name, 0o644, int64(len(content)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// StickPackage is an RPM that this program built.
func StickPackage(name string, b *rpm.Built) StickFile {
	return StickFile{name, 0o644, b.Size(), func() (io.ReadCloser, error) { return io.NopCloser(b.Reader()), nil }}
}

// StickProgram is a copy of the program at path, executable for every user.
func StickProgram(name, path string) (StickFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return StickFile{}, fmt.Errorf("write %s to the bundle: %w", name, err)
	}
	return StickFile{name, 0o755, info.Size(), func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}

// stick returns the files next to the parts, with the keys.
func (p *Plan) stick(o Options) ([]StickFile, error) {
	public, err := MarshalPublicKey(PublicOf(o.Signer))
	if err != nil {
		return nil, err
	}
	all := append([]StickFile{StickBytes(PublicKeyName, public)}, o.Stick...)
	if p.rpmKey != nil {
		all = append(all, StickBytes(RPMKeyName, p.rpmKey))
	}
	seen := map[string]bool{IndexName: true, SumsName: true, SignatureName: true, CosignaturesName: true}
	for _, f := range all {
		if !isPlainName(f.Name) || seen[f.Name] {
			return nil, fmt.Errorf("write %q to the bundle: duplicate or invalid name", f.Name)
		}
		seen[f.Name] = true
	}
	return all, nil
}

// hash is the SHA-256 of the content.
func (s StickFile) hash() (string, error) {
	r, err := s.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeTo writes the file to dir and returns its SHA-256.
func (s StickFile) writeTo(dir string) (string, error) {
	r, err := s.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	if err := writeStick(filepath.Join(dir, s.Name), s.mode, io.TeeReader(r, h)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeStick writes content to path with a temporary name and fsync. The mode is set at
// creation, because FAT refuses to change it later.
func writeStick(path string, mode fs.FileMode, content io.Reader) error {
	tmp := path + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
