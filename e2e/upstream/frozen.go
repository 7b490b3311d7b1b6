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

// The vendor of a frozen server, whose packages say what CentOS Stream's do.
const (
	frozenRepo = "mirror.stream.centos.org/9-stream/BaseOS/x86_64/os"
	frozenKey  = "mirror.stream.centos.org/RPM-GPG-KEY-centosofficial"
)

// BuildFrozen makes the packages of a server that was set up long ago, and its
// vendor's repository, of the metadata of CentOS Stream 9 that lies in repodata
// (baseos, appstream). The packages say what those of the metadata say, file
// names too; programs are in them where the lab has some.
//
// The directory that it returns has RPM-GPG-KEY, the vendor's, and the server's
// packages: in real/ those with programs, in installed/ all others.
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

// frozenPrograms are what the lab has of the vendor's packages, and podman's
// and runc's: scripts that must stay what they are.
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
	var about []any
	for _, name := range []string{"baseos", "appstream"} {
		text, err := os.ReadFile(filepath.Join(repodata, name, "repodata", "repomd.xml"))
		if err != nil {
			return "", fmt.Errorf("find the metadata of CentOS Stream 9: %w", err)
		}
		about = append(about, text)
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		stamp, err := stamps(programs[name])
		if err != nil {
			return "", err
		}
		about = append(about, programs[name], stamp)
	}
	return stage.Key(format, "without directories", choice.Key(), about)
}

func (b *builder) frozen(ctx context.Context, choice frozen.Choice, dir string, programs map[string][]archive.File) error {
	key, err := b.signingKey("frozen server's vendor")
	if err != nil {
		return err
	}
	lacking, err := lackingRepository(ctx, key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(lacking))
	choice.From = append(choice.From, "lacking=file://"+lacking)
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

// frozenServer writes what is installed, sorted by whether a package has files,
// and the vendor's public key.
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

// directoriesOf are the names that others lie below. The metadata calls all of them
// files, and as files nobody could share them.
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

// stubOf is a package as the metadata has it. A package that will be installed
// by dnf brings programs only: of its other names some are directories, and the
// metadata that is at hand does not tell which.
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

// lackingRepository has what container-selinux requires and the metadata at
// hand has in no version that is new enough.
func lackingRepository(ctx context.Context, key *rpms.Key) (string, error) {
	dir, err := os.MkdirTemp("", "lacking-")
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
