package runtime

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
	"slices"

	"github.com/klauspost/compress/gzip"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Source opens a file by File.Name: from the bundle on the installing host, from the registry on a
// joining host. It verifies the bytes, so the reader may return an error at the end.
type Source func(ctx context.Context, name string) (io.ReadCloser, error)

// installed is the record of FilesStep. The step is done if the record has the same releases and
// every file is unchanged.
type installed struct {
	Releases []string          `json:"releases"` // File.Name
	Files    map[string]string `json:"files"`    // name in BinDir: SHA-256 in hex
}

const (
	installedFile = host.StateDir + "/runtime.json"
	stagingDir    = host.BinDir + "/.new" // on the file system of BinDir, for atomic renames
)

// FilesStep installs the runtime's programs into BinDir. Programs in /usr/bin belong to the host's
// packages and stay unchanged.
func FilesStep(m host.Machine, r Config, arch string, open Source) step.Step {
	i := installation{m, r.engine(), r.Files(arch)}
	return step.Step{
		Name: "runtime-files", Title: "Install " + r.String(),
		Done: func(context.Context) (bool, error) { return filesHold(m, i.files) },
		Plan: func(context.Context) ([]string, error) { return i.plan() },
		Run:  func(ctx context.Context) error { return i.run(ctx, open) },
		Undo: func(context.Context) error {
			return errors.Join(host.RemoveTree(m.Path(stagingDir)), removeRuntime(m))
		},
	}
}

// installation is the installation of a runtime on a host.
type installation struct {
	m      host.Machine
	engine engine
	files  []File
}

// run unpacks every release before it replaces the first program, because a Source verifies a
// release only at its end.
func (i installation) run(ctx context.Context, open Source) error {
	m := i.m
	if err := refuseForeignRuntime(m, i.engine); err != nil {
		return err
	}
	staging := m.Path(stagingDir)
	if err := errors.Join(host.RemoveTree(staging), os.MkdirAll(staging, 0o755)); err != nil {
		return err
	}
	defer func() { _ = host.RemoveTree(staging) }()
	record := installed{Files: map[string]string{}}
	for _, f := range i.files {
		record.Releases = append(record.Releases, f.Name)
		if err := unpack(ctx, m, f.Name, open, record.Files); err != nil {
			return fmt.Errorf("install %s: %w", f.Name, err)
		}
	}
	for _, program := range i.engine.programs {
		if record.Files[program] == "" {
			return fmt.Errorf("install %s: the release does not contain %s", i.engine.title, program)
		}
	}
	return replacePrograms(ctx, m, record)
}

// replacePrograms moves the unpacked programs to BinDir. It writes the record first, so that after
// an interruption Done detects the difference and Undo knows the files. SELinux labels depend on
// the path, so it sets them last. If that is interrupted, LabelsStep repairs it in the next run,
// before the runtime starts.
func replacePrograms(ctx context.Context, m host.Machine, record installed) error {
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	if err := host.WriteFile(m.Path(installedFile), append(data, '\n'), 0o644); err != nil {
		return err
	}
	for name := range record.Files {
		if err := os.Rename(m.Path(path.Join(stagingDir, name)), m.Path(path.Join(host.BinDir, name))); err != nil {
			return err
		}
	}
	return errors.Join(host.SyncDir(m.Path(host.BinDir)), relabel(ctx, m))
}

// unpack writes the programs of a release to the staging directory and reads the release to its
// end, where the Source verifies it.
func unpack(ctx context.Context, m host.Machine, name string, open Source, sums map[string]string) error {
	r, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	if path.Ext(name) != ".gz" {
		err = unpackProgram(m, "runc", r, sums)
	} else {
		err = unpackArchive(m, r, sums)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

// unpackArchive unpacks the programs of an archive: the files in any directory named bin. CRI-O's
// archive also contains network plugins, settings and manual pages.
func unpackArchive(m host.Machine, r io.Reader, sums map[string]string) error {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	archive := tar.NewReader(unzipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || path.Base(path.Dir(header.Name)) != "bin" {
			continue
		}
		if err := unpackProgram(m, path.Base(header.Name), archive, sums); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, unzipped) // the tar ends before the gzip stream
	return err
}

func unpackProgram(m host.Machine, name string, r io.Reader, sums map[string]string) error {
	f, err := os.OpenFile(m.Path(path.Join(stagingDir, name)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, sum), r); err != nil {
		return err
	}
	sums[name] = hex.EncodeToString(sum.Sum(nil))
	return errors.Join(f.Chmod(0o755), f.Sync(), f.Close())
}

// relabel sets the SELinux type that the policy defines for a bin directory below /opt. Files that a
// process creates inherit another type, and then systemd cannot start them.
func relabel(ctx context.Context, m host.Machine) error {
	if _, err := fs.Stat(m.Host.FS(), "sys/fs/selinux/enforce"); errors.Is(err, fs.ErrNotExist) {
		return nil // no SELinux here
	}
	return m.Run(ctx, "restorecon", "-R", m.Path(path.Dir(host.BinDir)))
}

func readInstalled(m host.Machine) (installed, error) {
	var record installed
	data, err := os.ReadFile(m.Path(installedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	if err != nil {
		return record, err
	}
	if json.Unmarshal(data, &record) != nil {
		record = installed{} // truncated or not from airgap: install again
	}
	return record, nil
}

// plan lists the releases to unpack. If the host has all of them, it lists the changed programs.
func (i installation) plan() ([]string, error) {
	m := i.m
	if err := refuseForeignRuntime(m, i.engine); err != nil {
		return nil, err
	}
	record, err := readInstalled(m)
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, f := range i.files {
		if !slices.Contains(record.Releases, f.Name) {
			changes = append(changes, "unpack "+f.Name+" into "+host.BinDir)
		}
	}
	if len(changes) > 0 {
		return changes, nil
	}
	for name, want := range record.Files {
		have, err := host.SHA256(m.Path(path.Join(host.BinDir, name)))
		switch {
		case host.IgnoreMissing(err) != nil:
			return changes, err
		case err != nil:
			changes = append(changes, "restore "+path.Join(host.BinDir, name)+" (missing)")
		case have != want:
			changes = append(changes, "restore "+path.Join(host.BinDir, name)+" (changed)")
		}
	}
	if _, err := os.Stat(m.Path(stagingDir)); err == nil {
		changes = append(changes, "remove "+stagingDir+", which an interrupted run left")
	}
	slices.Sort(changes)
	return changes, nil
}
