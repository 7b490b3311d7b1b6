package kubeadm

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"github.com/klauspost/compress/gzip"
)

// Source opens a file of the bundle by File.Name: on the installing host from
// the bundle, on a joining one from the registry. It vouches for the bytes.
type Source func(ctx context.Context, name string) (io.ReadCloser, error)

// installed is what RuntimeFiles did, in stateDir: the postcondition is that
// the same releases were installed and that every file is still as it was.
type installed struct {
	Releases []string          `json:"releases"` // File.Name
	Files    map[string]string `json:"files"`    // name in BinDir: SHA-256 in hex
}

const installedFile = stateDir + "/runtime.json"

// RuntimeFiles installs containerd and runc into BinDir. /usr/bin is left to
// the host's own packages.
func RuntimeFiles(m Machine, r Runtime, arch string, open Source) step.Step {
	files := r.Files(arch)
	return step.Step{
		Name: "runtime-files", Title: fmt.Sprintf("Install containerd %s and runc %s", r.Version, r.RuncVersion),
		Done: func(context.Context) (bool, error) { return m.filesHold(files) },
		Run:  func(ctx context.Context) error { return m.installRuntime(ctx, files, open) },
		Undo: func(context.Context) error { return m.removeRuntime() },
	}
}

func (m Machine) installRuntime(ctx context.Context, files []File, open Source) error {
	if err := m.refuseForeignRuntime(); err != nil {
		return err
	}
	record := installed{Files: map[string]string{}}
	for _, f := range files {
		record.Releases = append(record.Releases, f.Name)
		if err := m.installFile(ctx, f.Name, open, record.Files); err != nil {
			return fmt.Errorf("install %s: %w", f.Name, err)
		}
	}
	if err := m.relabel(ctx); err != nil {
		return err
	}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return host.WriteFile(m.path(installedFile), append(data, '\n'), 0o644)
}

func (m Machine) installFile(ctx context.Context, name string, open Source, sums map[string]string) error {
	r, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	if path.Ext(name) != ".gz" {
		return m.installBinary("runc", r, sums)
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	return m.installArchive(tar.NewReader(unzipped), sums)
}

// installArchive takes the programs of an archive, whatever their directory.
func (m Machine) installArchive(archive *tar.Reader, sums map[string]string) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := m.installBinary(path.Base(header.Name), archive, sums); err != nil {
			return err
		}
	}
	if sums["containerd"] == "" || sums["containerd-shim-runc-v2"] == "" {
		return errors.New("the archive lacks containerd or its shim")
	}
	return nil
}

func (m Machine) installBinary(name string, r io.Reader, sums map[string]string) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	sums[name] = hex.EncodeToString(sum[:])
	return host.WriteFile(m.path(path.Join(BinDir, name)), data, 0o755)
}

// relabel gives the programs the type that the policy has for a bin directory
// below /opt: files made by a process inherit another one, and systemd may
// then not start them.
func (m Machine) relabel(ctx context.Context) error {
	if _, err := fs.Stat(m.Host.FS(), "sys/fs/selinux/enforce"); errors.Is(err, fs.ErrNotExist) {
		return nil // no SELinux here
	}
	return m.run(ctx, "restorecon", "-R", m.path(path.Dir(BinDir)))
}

func (m Machine) readInstalled() (installed, error) {
	var record installed
	data, err := os.ReadFile(m.path(installedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	if err != nil {
		return record, err
	}
	if json.Unmarshal(data, &record) != nil {
		record = installed{} // cut or foreign: install again
	}
	return record, nil
}
