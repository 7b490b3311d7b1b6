package rpm

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"
	nfpmrpm "github.com/goreleaser/nfpm/v2/rpm"
)

// Spec is a package to build.
type Spec struct {
	Name, Version, Release string
	Arch                   string // x86_64, aarch64
	Summary, License, URL  string
	Files                  []File
	Requires               []string
	// The scriptlets are POSIX sh. rpm passes 0 to those of a removal, 1 to
	// those of an upgrade.
	PreInstall, PostInstall, PreRemove, PostRemove string
	Time                                           time.Time // of the build, of every file, of the signature
}

// File is one file or directory of a package.
type File struct {
	Path   string // absolute
	Source string // a file to take the content from; else Data
	Data   []byte
	Mode   fs.FileMode // permission bits, and fs.ModeDir for a directory
	Owner  string      // root when empty
	Group  string
	Config bool // kept when an administrator changed it
}

// BuildPackage writes a signed RPM. The same Spec and key give the same bytes.
func BuildPackage(w io.Writer, spec Spec, key *Key) error {
	dir, err := os.MkdirTemp("", "airgap-rpm-")
	if err != nil {
		return fmt.Errorf("build package %s: %w", spec.Name, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	info, err := spec.info(dir, key)
	if err != nil {
		return fmt.Errorf("build package %s: %w", spec.Name, err)
	}
	if err := nfpmrpm.DefaultRPM.Package(info, w); err != nil {
		return fmt.Errorf("build package %s: %w", spec.Name, err)
	}
	return nil
}

// info puts what nfpm only reads from files into dir.
func (s Spec) info(dir string, key *Key) (*nfpm.Info, error) {
	scripts, err := s.scripts(dir)
	if err != nil {
		return nil, err
	}
	contents, err := s.contents(dir)
	if err != nil {
		return nil, err
	}
	info := &nfpm.Info{
		Name: s.Name, Version: s.Version, VersionSchema: "none", Release: s.Release, Arch: s.Arch, Platform: "linux",
		Description: s.Summary, License: s.License, Homepage: s.URL, MTime: s.Time,
		Overridables: nfpm.Overridables{Contents: contents, Depends: s.Requires, Scripts: scripts},
	}
	// The host that built it is nobody's business, and would make the bytes differ.
	info.RPM.BuildHost = "localhost"
	info.RPM.Signature.SignFn = func(r io.Reader) ([]byte, error) { return key.DetachSign(r, s.Time) }
	return info, nil
}

func (s Spec) scripts(dir string) (nfpm.Scripts, error) {
	var scripts nfpm.Scripts
	for _, script := range []struct {
		text string
		path *string
	}{
		{s.PreInstall, &scripts.PreInstall}, {s.PostInstall, &scripts.PostInstall},
		{s.PreRemove, &scripts.PreRemove}, {s.PostRemove, &scripts.PostRemove},
	} {
		if script.text == "" {
			continue
		}
		path, err := put(dir, []byte(script.text))
		if err != nil {
			return scripts, err
		}
		*script.path = path
	}
	return scripts, nil
}

func (s Spec) contents(dir string) (files.Contents, error) {
	var all files.Contents
	for _, f := range s.Files {
		content := &files.Content{
			Destination: f.Path, Source: f.Source,
			FileInfo: &files.ContentFileInfo{Owner: cmp.Or(f.Owner, "root"), Group: cmp.Or(f.Group, "root"), Mode: f.Mode.Perm(), MTime: s.Time},
		}
		switch {
		case f.Mode.IsDir():
			content.Type = files.TypeDir
		case f.Config:
			content.Type = files.TypeConfigNoReplace
		}
		if f.Source == "" && !f.Mode.IsDir() {
			path, err := put(dir, f.Data)
			if err != nil {
				return nil, err
			}
			content.Source = path
		}
		all = append(all, content)
	}
	return all, nil
}

// put writes data to a new file of dir.
func put(dir string, data []byte) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, strconv.Itoa(len(entries)))
	return path, os.WriteFile(path, data, 0o600)
}
