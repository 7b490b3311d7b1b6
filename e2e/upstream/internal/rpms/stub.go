package rpms

import (
	"bytes"
	"fmt"
	"os"

	"github.com/google/rpmpack"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// Stub is a package with the metadata of a real package and few of its files. It has only the
// dependencies of that metadata: none are derived from its files.
type Stub struct {
	Name, Version, Release, Arch string
	Epoch                        uint32
	Summary                      string
	Provides, Requires           []string // in RPM's notation, also rich dependencies
	Conflicts, Obsoletes         []string
	Paths                        []string       // absolute; files without content
	Files                        []archive.File // with content
}

// FileName returns NAME-VERSION-RELEASE.ARCH.rpm.
func (s Stub) FileName() string {
	return fmt.Sprintf("%s-%s-%s.%s.rpm", s.Name, s.Version, s.Release, s.Arch)
}

// Write writes the package to path, signed with the key.
func (s Stub) Write(path string, key *Key) error {
	pack, err := s.pack()
	if err != nil {
		return fmt.Errorf("pack %s: %w", s.FileName(), err)
	}
	pack.SetPGPSigner(func(header []byte) ([]byte, error) { return key.Sign(bytes.NewReader(header)) })
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pack.Write(out); err != nil {
		return fmt.Errorf("pack %s: %w", s.FileName(), err)
	}
	return os.Chtimes(path, archive.Epoch(), archive.Epoch())
}

func (s Stub) pack() (*rpmpack.RPM, error) {
	var all [4]rpmpack.Relations
	for i, list := range [][]string{s.Provides, s.Requires, s.Conflicts, s.Obsoletes} {
		for _, text := range list {
			if err := all[i].Set(text); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
	}
	pack, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: s.Name, Version: s.Version, Release: s.Release, Epoch: s.Epoch, Arch: s.Arch, OS: "linux",
		Summary: s.Summary, Licence: "Apache-2.0", Vendor: "airgap lab", BuildTime: archive.Epoch(), Compressor: "gzip",
		Requires: all[1], Conflicts: all[2], Obsoletes: all[3],
	})
	if err != nil {
		return nil, err
	}
	pack.Provides = all[0] // without rpmpack's own entry, which has no epoch
	for _, path := range s.Paths {
		pack.AddFile(rpmpack.RPMFile{Name: path, Mode: 0o100644, Owner: "root", Group: "root", MTime: uint32(archive.Epoch().Unix())})
	}
	for _, f := range s.Files {
		file, err := packed(f)
		if err != nil {
			return nil, err
		}
		pack.AddFile(file)
	}
	return pack, nil
}

func packed(f archive.File) (rpmpack.RPMFile, error) {
	file := rpmpack.RPMFile{Name: "/" + f.Path, Body: f.Data, Mode: 0o100000 | uint(f.Mode), Owner: "root", Group: "root", MTime: uint32(archive.Epoch().Unix())}
	if f.Mode == 0 {
		file.Mode |= 0o755
	}
	switch {
	case f.Link != "":
		file.Mode, file.Body = 0o120777, []byte(f.Link)
	case f.Source != "":
		var err error
		if file.Body, err = os.ReadFile(f.Source); err != nil {
			return file, err
		}
	}
	return file, nil
}
