package papers

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/package-url/packageurl-go"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"

	"airgap.dev/airgap/internal/host"
)

// Program is one of airgap's programs, for ProgramsSBOM.
type Program struct {
	Name string // file name in the release
	Path string // current path
}

// ProgramsSBOM lists the Go modules of the programs with their versions and hashes, and
// Go itself, from the build information in the programs. The same programs give the
// same bytes.
func ProgramsSBOM(version string, created time.Time, programs ...Program) ([]byte, error) {
	s := programsSBOM{modules: map[string]*debug.Module{}}
	for _, p := range programs {
		if err := s.read(p); err != nil {
			return nil, fmt.Errorf("list modules of %s: %w", p.Name, err)
		}
	}
	doc := sbomOf("airgap-"+version, sha256.Sum256(s.listed()), "airgap "+version, created)
	ids := map[string]common.ElementID{}
	for i, key := range slices.Sorted(maps.Keys(s.modules)) {
		entry, err := sbomModule(i, s.modules[key])
		if err != nil {
			return nil, err
		}
		ids[key], doc.Packages = entry.PackageSPDXIdentifier, append(doc.Packages, entry)
	}
	for i, p := range programs {
		entry := sbomEntry("Program", i, strings.TrimPrefix(s.info[i].Path, s.info[i].Main.Path+"/cmd/"), version, noAssertion, s.sums[p.Name])
		entry.PackageFileName, entry.PrimaryPackagePurpose, entry.PackageLicenseDeclared = p.Name, "APPLICATION", "Apache-2.0"
		doc.Packages = append(doc.Packages, entry)
		doc.Relationships = append(doc.Relationships, relation(documentID, spdx.RelationshipDescribes, entry.PackageSPDXIdentifier))
		for _, m := range modulesOf(s.info[i]) {
			doc.Relationships = append(doc.Relationships, relation(entry.PackageSPDXIdentifier, spdx.RelationshipContains, ids[moduleKey(m)]))
		}
	}
	return encodeSBOM(doc)
}

// programsSBOM has the build information of the programs.
type programsSBOM struct {
	sums    map[string]string // SHA-256 in hex, by file name
	info    []*buildinfo.BuildInfo
	modules map[string]*debug.Module // by moduleKey
}

func (s *programsSBOM) read(p Program) error {
	info, err := buildinfo.ReadFile(p.Path)
	if err != nil {
		return err
	}
	sum, err := host.SHA256(p.Path)
	if err != nil {
		return err
	}
	if s.sums == nil {
		s.sums = map[string]string{}
	}
	s.sums[p.Name], s.info = sum, append(s.info, info)
	for _, m := range modulesOf(info) {
		s.modules[moduleKey(m)] = m
	}
	return nil
}

// standardLibrary is the module name of Go's library in advisories.
const standardLibrary = "stdlib"

// modulesOf returns the modules in a program after replacements, and Go's library. It
// skips modules that are replaced with a directory of this project.
func modulesOf(info *buildinfo.BuildInfo) []*debug.Module {
	golang, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	all := []*debug.Module{{Path: standardLibrary, Version: golang}}
	for _, m := range info.Deps {
		if m = cmp.Or(m.Replace, m); !strings.HasPrefix(m.Path, "./") {
			all = append(all, m)
		}
	}
	return all
}

func moduleKey(m *debug.Module) string { return m.Path + "@" + m.Version }

// sbomModule has the hash of the module from go.sum and the SHA-256 in it, which is a
// hash of the hashes of the module's files.
func sbomModule(i int, m *debug.Module) (*spdx.Package, error) {
	entry := sbomEntry("Module", i, m.Path, m.Version, noAssertion, "")
	entry.PackageChecksums = nil
	if m.Path != standardLibrary {
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err == nil && len(sum) != sha256.Size {
			err = errors.New("not a SHA-256")
		}
		if err != nil {
			return nil, fmt.Errorf("list module %s: hash %q: %w", m.Path, m.Sum, err)
		}
		entry.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum)}}
		entry.PackageSourceInfo = "go.sum: " + m.Sum
	}
	namespace, name := path.Split(m.Path)
	url := packageurl.NewPackageURL("golang", strings.TrimSuffix(namespace, "/"), name, m.Version, nil, "")
	entry.PackageExternalReferences = []*spdx.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url.ToString()}}
	return entry, nil
}

// listed is the text of sha256sum for the programs, sorted by name.
func (s programsSBOM) listed() []byte {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		text = fmt.Appendf(text, "%s  %s\n", s.sums[name], name)
	}
	return text
}
