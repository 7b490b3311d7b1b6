package exampletest

import (
	"compress/gzip"
	"encoding/xml"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/nevra"
)

// realMetadata plans the example for EL 9 with the complete metadata of CentOS Stream 9 in
// AIRGAP_REPODATA. The servers are a minimal installation of its BaseOS, which is older than AppStream,
// with the SELinux policy that container-selinux requires.
func realMetadata(t *testing.T, program string, u *upstream) {
	dir := os.Getenv("AIRGAP_REPODATA")
	if dir == "" {
		t.Skip("AIRGAP_REPODATA is not set")
	}
	before := u.files
	t.Cleanup(func() { u.files = before })
	u.files = maps.Clone(before)
	for ours, theirs := range map[string]string{"baseos": "BaseOS", "appstream": "AppStream"} {
		at := "dl.rockylinux.org/pub/rocky/9/" + theirs + "/x86_64/os/"
		maps.DeleteFunc(u.files, func(name string, _ []byte) bool { return strings.HasPrefix(name, at) })
		files, err := filepath.Glob(filepath.Join(dir, ours, "repodata/*"))
		must(t, err)
		for _, file := range files {
			u.files[at+"repodata/"+filepath.Base(file)], err = os.ReadFile(file)
			must(t, err)
		}
	}
	from := cases()["ha-rocky9"]
	from.database = minimal(t, filepath.Join(dir, "baseos"))
	golden(t, "ha-rocky9-centos", plan(t, program, u, visit(t, u, "ha-rocky9", from)).String())
}

// minimal returns the RPM database of a host with the packages of a minimal installation of EL 9, in
// the builds of a repository.
func minimal(t *testing.T, repository string) string {
	t.Helper()
	words, err := os.ReadFile("../../../bundle/rpm/profiles/el9-minimal")
	must(t, err)
	installed := map[string]bool{}
	for word := range strings.FieldsSeq(string(words)) {
		installed[word] = true
	}
	var r recorded
	for _, p := range published(t, repository) {
		switch p.Name {
		case "selinux-policy", "selinux-policy-targeted":
			p = updated(p, "38.1.53", "5.el9_6")
		}
		if installed[p.Name] {
			r.packages = append(r.packages, p)
		}
	}
	return r.database(t)
}

// updated returns a package in another build.
func updated(p pkg, version, release string) pkg {
	before := p.EVR.String()
	p.Version, p.Release = version, release
	lists := map[string][]string{}
	for _, one := range p.lists["provides"] {
		lists["provides"] = append(lists["provides"], strings.ReplaceAll(one, before, p.EVR.String()))
	}
	p.lists = lists
	return p
}

type entry struct {
	Name  string `xml:"name,attr"`
	Flags string `xml:"flags,attr"`
	Epoch int    `xml:"epoch,attr"`
	Ver   string `xml:"ver,attr"`
	Rel   string `xml:"rel,attr"`
}

// published returns the packages in the primary metadata of a repository, the newest build of each name.
func published(t *testing.T, repository string) map[string]pkg {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "repodata/*primary.xml.gz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("primary metadata in %s: %v, %v", repository, files, err)
	}
	f, err := os.Open(files[0])
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	text, err := io.ReadAll(z)
	must(t, err)
	var metadata struct {
		Packages []struct {
			Name    string `xml:"name"`
			Arch    string `xml:"arch"`
			Version struct {
				Epoch int    `xml:"epoch,attr"`
				Ver   string `xml:"ver,attr"`
				Rel   string `xml:"rel,attr"`
			} `xml:"version"`
			Provides  []entry  `xml:"format>provides>entry"`
			Conflicts []entry  `xml:"format>conflicts>entry"`
			Obsoletes []entry  `xml:"format>obsoletes>entry"`
			Files     []string `xml:"format>file"`
		} `xml:"package"`
	}
	must(t, xml.Unmarshal(text, &metadata))
	all := map[string]pkg{}
	for _, p := range metadata.Packages {
		n := nevra.NEVRA{Name: p.Name, Arch: p.Arch, EVR: nevra.EVR{Epoch: p.Version.Epoch, Version: p.Version.Ver, Release: p.Version.Rel}}
		if before, twice := all[p.Name]; n.Arch == "i686" || twice && before.Compare(n.EVR) > 0 {
			continue
		}
		one := pkg{NEVRA: n, lists: map[string][]string{"files": p.Files}}
		for list, entries := range map[string][]entry{"provides": p.Provides, "conflicts": p.Conflicts, "obsoletes": p.Obsoletes} {
			for _, e := range entries {
				c := rpm.Capability{Name: e.Name, Flags: e.Flags, EVR: nevra.EVR{Epoch: e.Epoch, Version: e.Ver, Release: e.Rel}}
				one.lists[list] = append(one.lists[list], c.String())
			}
		}
		all[p.Name] = one
	}
	return all
}
