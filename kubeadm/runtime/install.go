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

// Source opens a file of the bundle by File.Name: on the installing host from
// the bundle, on a joining one from the registry. It vouches for the bytes.
type Source func(ctx context.Context, name string) (io.ReadCloser, error)

// installed is what RuntimeFiles did, in stateDir: the postcondition is that
// the same releases were installed and that every file is still as it was.
type installed struct {
	Releases []string          `json:"releases"` // File.Name
	Files    map[string]string `json:"files"`    // name in BinDir: SHA-256 in hex
}

const (
	installedFile = host.StateDir + "/runtime.json"
	stagingDir    = host.BinDir + "/.new" // on the file system of BinDir, for renaming
)

// FilesStep installs the runtime's programs into BinDir. /usr/bin is left to the
// host's own packages.
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

// installation is a runtime on its way to a host.
type installation struct {
	m      host.Machine
	engine engine
	files  []File
}

// run unpacks every release before it replaces the first program, since a release
// is known to be whole and the signed one only at its end.
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
			return fmt.Errorf("install %s: the release lacks %s", i.engine.title, program)
		}
	}
	return replacePrograms(ctx, m, record)
}

// replacePrograms moves what was unpacked to its place. The record is written
// before: whatever happens then, the postcondition notices it and Undo knows
// what to remove. Labels go by where a file is, so they come last; where that was cut
// off, LabelsStep sees it in the next run, before anything is started.
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

// unpack puts the programs of a release into the staging directory and reads
// it to the end, where its Source vouches for it.
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

// unpackArchive takes the programs of an archive: what lies in a directory bin,
// wherever that is. CRI-O's has network plugins, settings and manual pages, too.
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
	_, err = io.Copy(io.Discard, unzipped) // tar ends before it
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

// relabel gives the programs the type that the policy has for a bin directory
// below /opt: files made by a process inherit another one, and systemd may
// then not start them.
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
		record = installed{} // cut or foreign: install again
	}
	return record, nil
}

// plan names the releases that are unpacked, and on a host that has them the
// programs that are not as they were.
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
			changes = append(changes, "put back "+path.Join(host.BinDir, name)+" (missing)")
		case have != want:
			changes = append(changes, "put back "+path.Join(host.BinDir, name)+" (changed)")
		}
	}
	if _, err := os.Stat(m.Path(stagingDir)); err == nil {
		changes = append(changes, "remove "+stagingDir+", which an interrupted run left")
	}
	slices.Sort(changes)
	return changes, nil
}
