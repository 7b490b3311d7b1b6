package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/frozen"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// The vendor of the frozen server. Its packages have the metadata of CentOS Stream's.
const (
	frozenRepo = "mirror.stream.centos.org/9-stream/BaseOS/x86_64/os"
	frozenKey  = "mirror.stream.centos.org/RPM-GPG-KEY-centosofficial"
)

// BuildFrozen builds the packages of a server that was installed long ago, and its vendor's
// repository. It reads the metadata of CentOS Stream 9 in repodata (baseos, appstream). The
// packages have the same metadata, including file names. They contain the programs that the
// lab has.
//
// The returned directory has the vendor's RPM-GPG-KEY and the packages of the server: those
// with programs in real/, all others in installed/.
func BuildFrozen(ctx context.Context, cache, repodata string, progress io.Writer) (string, error) {
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := b.cache.path("frozen")
	programs, err := frozenPrograms()
	if err != nil {
		return "", err
	}
	choice := frozen.Choice{
		Date: "2024-10-01", Packages: 600,
		Asked: []string{"conntrack-tools", "ethtool", "iproute", "iptables-nft", "socat", "container-selinux", "util-linux", "nfs-utils"},
		From:  []string{"baseos=file://" + filepath.Join(repodata, "baseos"), "appstream=file://" + filepath.Join(repodata, "appstream")},
	}
	key, err := frozenStage(choice, repodata, programs)
	if err != nil {
		return "", err
	}
	_, err = b.log.Do("frozen server", key, func() error { return b.frozen(ctx, choice, dir, programs) })
	return dir, err
}

// frozenPrograms returns, by package, the files that the lab has of the vendor's packages,
// and scripts for podman and runc, which an installation must not change.
func frozenPrograms() (map[string][]archive.File, error) {
	packages, err := elPackages()
	if err != nil {
		return nil, err
	}
	all := map[string][]archive.File{}
	for _, p := range packages {
		all[p.Name] = p.Files
	}
	for _, name := range []string{"podman", "runc"} {
		all[name] = []archive.File{{Path: "usr/bin/" + name, Data: []byte("#!/bin/sh\necho " + name + " of the frozen server\n"), Mode: 0o755}}
	}
	return all, nil
}

func frozenStage(choice frozen.Choice, repodata string, programs map[string][]archive.File) (string, error) {
	var inputs []any
	for _, name := range []string{"baseos", "appstream"} {
		text, err := os.ReadFile(filepath.Join(repodata, name, "repodata", "repomd.xml"))
		if err != nil {
			return "", fmt.Errorf("read the metadata of CentOS Stream 9: %w", err)
		}
		inputs = append(inputs, text)
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		stamp, err := stamps(programs[name])
		if err != nil {
			return "", err
		}
		inputs = append(inputs, programs[name], stamp)
	}
	return stage.Key(format, "without directories", choice.Key(), inputs)
}

func (b *builder) frozen(ctx context.Context, choice frozen.Choice, dir string, programs map[string][]archive.File) error {
	key, err := b.signingKey("frozen server's vendor")
	if err != nil {
		return err
	}
	extra, err := extraRepository(ctx, key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(extra))
	choice.From = append(choice.From, "extra=file://"+extra)
	packages, err := choice.Choose(ctx)
	if err != nil {
		return err
	}
	var installed, offered []rpms.Writable
	directories := directoriesOf(packages)
	for _, p := range packages {
		p.Files = slices.DeleteFunc(p.Files, func(path string) bool { return directories[path] })
		s := stubOf(p, programs[p.Name])
		if p.Installed {
			installed = append(installed, s)
		} else {
			offered = append(offered, s)
		}
	}
	return errors.Join(
		frozenServer(ctx, dir, installed, key),
		b.publish(ctx, frozenRepo, frozenKey, rpms.Repository{Place: byFirstLetter, Packages: offered, Key: key}))
}

// frozenServer writes the installed packages, those with files into real/ and the others
// into installed/, and the vendor's public key.
func frozenServer(ctx context.Context, dir string, installed []rpms.Writable, key *rpms.Key) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	err := rpms.WriteAll(ctx, installed, key, func(p rpms.Writable) string {
		if len(p.(rpms.Stub).Files) > 0 {
			return filepath.Join(dir, "real")
		}
		return filepath.Join(dir, "installed")
	})
	if err != nil {
		return err
	}
	public, err := key.Public()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "RPM-GPG-KEY"), public, 0o644)
}

// directoriesOf returns the paths that are parents of other paths. The metadata lists them
// as files, but two packages cannot both have the same file.
func directoriesOf(packages []frozen.Package) map[string]bool {
	all := map[string]bool{}
	for _, p := range packages {
		for _, name := range p.Files {
			for dir := path.Dir(name); dir != "/" && !all[dir]; dir = path.Dir(dir) {
				all[dir] = true
			}
		}
	}
	return all
}

// stubOf returns a package with the metadata of p. A package for dnf has only the paths of
// programs: some of its other paths are directories, and the metadata does not show which.
func stubOf(p frozen.Package, files []archive.File) rpms.Stub {
	s := rpms.Stub{
		Name: p.Name, Version: p.Version, Release: p.Release, Arch: p.Arch, Epoch: p.Epoch, Summary: p.Summary,
		Provides: p.Provides, Requires: p.Requires, Conflicts: p.Conflicts, Obsoletes: p.Obsoletes, Files: files,
	}
	for _, path := range p.Files {
		if len(files) == 0 && (p.Installed || strings.Contains(path, "bin/")) {
			s.Paths = append(s.Paths, path)
		}
	}
	return s
}

// extraRepository builds a repository with the SELinux policy that container-selinux
// requires. The metadata has no version that is new enough.
func extraRepository(ctx context.Context, key *rpms.Key) (string, error) {
	dir, err := os.MkdirTemp("", "extra-")
	if err != nil {
		return "", err
	}
	const version, release = "38.1.53", "1.el9"
	evr := " = " + version + "-" + release
	policy := rpms.Stub{
		Name: "selinux-policy-targeted", Version: version, Release: release, Arch: "noarch", Summary: "SELinux policy, empty here",
		Provides: []string{"selinux-policy-targeted" + evr, "selinux-policy" + evr, "selinux-policy-base" + evr, "selinux-policy-any" + evr},
	}
	r := rpms.Repository{Dir: filepath.Join(dir, "repository"), Place: byFirstLetter, Packages: []rpms.Writable{policy}, Key: key}
	return r.Dir, r.Build(ctx)
}
