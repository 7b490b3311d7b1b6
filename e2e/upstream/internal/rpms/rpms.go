// Package rpms makes the lab's package repositories. It builds RPMs from declarations and
// indexes them with createrepo_c. It signs the packages and the index with keys that were
// generated for this cache only. The provides and requires of a package are those that
// rpmbuild would find in its files, and those of its declaration.
package rpms

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/debian"
)

// Package declares one RPM.
type Package struct {
	Name, Version, Release string
	Summary                string
	NoArch                 bool
	Provides, Requires     []string       // in RPM's notation: "iptables >= 1.4.21"
	Files                  []archive.File // with Source, Data or Link
	Scripts                nfpm.Scripts

	Epoch     string   `json:",omitempty"` // a number
	Conflicts []string `json:",omitempty"`
	Obsoletes []string `json:",omitempty"`
	Post      string   `json:",omitempty"` // a shell script that runs when the package is installed
}

// FileName returns NAME-VERSION-RELEASE.ARCH.rpm.
func (p Package) FileName() string {
	return fmt.Sprintf("%s-%s-%s.%s.rpm", p.Name, p.Version, p.Release, p.arch())
}

func (p Package) arch() string {
	if p.NoArch {
		return "noarch"
	}
	return "x86_64"
}

// Write writes the package to path, signed with the key.
func (p Package) Write(path string, key *Key) error {
	info, cleanup, err := p.info()
	defer cleanup()
	if err != nil {
		return err
	}
	info.RPM.Signature.SignFn = func(data io.Reader) ([]byte, error) { return key.Sign(data) }
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := (&rpm.RPM{}).Package(info, out); err != nil {
		return fmt.Errorf("pack %s: %w", p.FileName(), err)
	}
	// createrepo_c writes the modification time into the index.
	return os.Chtimes(path, archive.Epoch(), archive.Epoch())
}

func (p Package) info() (*nfpm.Info, func(), error) {
	dir, err := os.MkdirTemp("", "rpm-")
	cleanup := func() { _ = os.RemoveAll(dir) }
	if err != nil {
		return nil, cleanup, err
	}
	contents, err := p.contents(dir)
	if err != nil {
		return nil, cleanup, err
	}
	all, err := p.Dependencies()
	if err != nil {
		return nil, cleanup, err
	}
	info := &nfpm.Info{
		Name: p.Name, Version: p.Version, Release: p.Release, Arch: p.arch(), Platform: "linux",
		Description: p.Summary, License: "Apache-2.0", Vendor: "airgap lab",
		MTime: archive.Epoch(), DisableGlobbing: true,
	}
	info.Epoch = p.Epoch
	info.Provides, info.Depends, info.Conflicts, info.Replaces = all.Provides, all.Requires, p.Conflicts, p.Obsoletes
	info.Contents, info.Scripts = contents, p.Scripts
	if p.Post != "" {
		info.Scripts.PostInstall = filepath.Join(dir, "post")
		if err := os.WriteFile(info.Scripts.PostInstall, []byte(p.Post), 0o644); err != nil {
			return nil, cleanup, err
		}
	}
	info.RPM.Compression, info.RPM.BuildHost = "zstd", "lab"
	return info, cleanup, nil
}

// Dependencies returns the declared dependencies, the package's own name, and the
// dependencies of its files.
func (p Package) Dependencies() (debian.Dependencies, error) {
	found, err := debian.ELFDependencies(p.sources()...)
	provides := append([]string{p.Name + " = " + p.evr()}, p.Provides...)
	if !p.NoArch {
		provides = append(provides, p.Name+"(x86-64) = "+p.evr())
	}
	return debian.Dependencies{
		Provides: slices.Concat(provides, found.Provides),
		Requires: slices.Concat(p.Requires, found.Requires),
	}, err
}

// evr returns [EPOCH:]VERSION-RELEASE.
func (p Package) evr() string {
	evr := p.Version + "-" + p.Release
	if p.Epoch != "" {
		evr = p.Epoch + ":" + evr
	}
	return evr
}

// sources lists the files with ELF headers to read. Data is not read.
func (p Package) sources() []string {
	var paths []string
	for _, f := range p.Files {
		if f.Source != "" {
			paths = append(paths, f.Source)
		}
	}
	return paths
}

// contents writes inline data to files in dir, because nfpm reads only files.
func (p Package) contents(dir string) (files.Contents, error) {
	var contents files.Contents
	for i, f := range p.Files {
		c := &files.Content{Source: f.Source, Destination: "/" + f.Path,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", MTime: archive.Epoch(), Mode: os.FileMode(f.Mode)}}
		if strings.HasPrefix(f.Path, "etc/") {
			c.Type = files.TypeConfigNoReplace
		}
		switch {
		case f.Link != "":
			c.Source, c.Type = f.Link, files.TypeSymlink
		case f.Source == "":
			c.Source = filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(c.Source, f.Data, 0o644); err != nil {
				return nil, err
			}
		}
		contents = append(contents, c)
	}
	return contents, nil
}
