package rpm

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// driver returns the packages of one driver release in NVIDIA's repository.
func driver(version string, names ...string) []pkg {
	var all []pkg
	for _, name := range names {
		all = append(all, pkg{nevra: strings.ReplaceAll(name, versionPlaceholder, version) + "-3:" + version + "-1.x86_64"})
	}
	return all
}

// TestExtra: one server gets additional packages of one version.
func TestExtra(t *testing.T) {
	cuda, kmod, fabric := "cuda", "kmod", "fabric"
	built := "kmod-{version}-5.14.0-1"
	repository := append(driver("580.9.1", cuda, kmod, fabric, built), driver("580.82.07", cuda, kmod, fabric)...)
	repository = append(repository, driver("580.95.05", cuda, kmod)...)
	repository = append(repository, driver("595.1.1", cuda)...)
	repository = append(repository, pkg{nevra: "app-1-1.x86_64"}, pkg{nevra: "gcc-1-1.x86_64", provides: []string{"compiler"}})
	bash := InstalledPackage{NEVRA: nevra.NEVRA{Name: "bash", EVR: nevra.EVR{Version: "5", Release: "1"}, Arch: "x86_64"}}
	for _, test := range []struct {
		name     string
		extra    Extra
		has      string // installed on the server
		locked   []pkg
		want     string
		problems []string
	}{
		{name: "the newest of the branch", extra: Extra{Together: []string{cuda, kmod}, Version: "580."}, want: "cuda-580.95.05@g1 kmod-580.95.05@g1"},
		{name: "the newest common version", extra: Extra{Together: []string{cuda, kmod, fabric}, Version: "580."}, want: "cuda-580.82.07@g1 fabric-580.82.07@g1 kmod-580.82.07@g1"},
		{name: "a name with the version in it", extra: Extra{Together: []string{cuda, built}, Version: "580."}, want: "cuda-580.9.1@g1 kmod-580.9.1-5.14.0-1-580.9.1@g1"},
		{name: "the locked version", extra: Extra{Together: []string{cuda, kmod}, Version: "580."}, locked: driver("580.82.07", cuda, kmod), want: "cuda-580.82.07@g1 kmod-580.82.07@g1"},
		{name: "exactly this version", extra: Extra{Together: []string{fabric}, Version: "580.82.07"}, want: "fabric-580.82.07@g1"},
		{
			name:     "a prefix is not a version",
			extra:    Extra{By: "gpu", Together: []string{fabric}, Version: "580.82"},
			problems: []string{"on g1: gpu requires fabric in version 580.82; the repositories have only 580.9.1, 580.82.07"},
		},
		{name: "the installed version", extra: Extra{Together: []string{cuda, kmod}, Version: "580."}, has: "cuda-3:580.82.07-1.x86_64", want: "kmod-580.82.07@g1"},
		{name: "other packages", extra: Extra{Install: []string{"gcc"}}, want: "gcc-1@g1"},
		{
			name:     "one package has no such version",
			extra:    Extra{By: "gpu", Together: []string{cuda, kmod}, Version: "595."},
			problems: []string{"on g1: gpu requires cuda, kmod in one version 595.x; the repositories do not have version 595.1.1 of kmod"},
		},
		{
			name:     "another branch",
			extra:    Extra{By: "gpu", Together: []string{cuda, fabric}, Version: "535."},
			problems: []string{"on g1: gpu requires cuda, fabric in one version 535.x; the repositories have only 580.9.1, 580.82.07, 580.95.05, 595.1.1"},
		},
		{
			name: "no repository has any", extra: Extra{By: "gpu", Together: []string{"nvidia"}, Version: "580."},
			problems: []string{"gpu requires nvidia in one version 580.x; no repository has any of them"},
		},
		{name: "a capability", extra: Extra{Install: []string{"compiler"}}, want: "gcc-1@g1"},
		{name: "an installed package provides it", extra: Extra{Install: []string{"cuda-api"}}, has: "cuda-3:580.82.07-1.x86_64", want: ""},
		{name: "no such package", extra: Extra{By: "gpu", Install: []string{"dkms"}}, problems: []string{"on g1: no package provides dkms, needed by gpu"}},
		{
			name:     "an older version is installed",
			extra:    Extra{By: "gpu", Together: []string{cuda, kmod}, Version: "580."},
			has:      "cuda-3:575.1.1-1.x86_64",
			problems: []string{"on g1: gpu asks for cuda-580.95.05, but cuda-3:575.1.1-1.x86_64 is installed and would be replaced"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, "https://upstream/vendor", aKey(), repository...)
			g1 := Installed{Host: "g1", Packages: []InstalledPackage{bash}}
			if test.has != "" {
				n, err := nevra.Parse(test.has)
				if err != nil {
					t.Fatal(err)
				}
				g1.Packages = append(g1.Packages, InstalledPackage{NEVRA: n, Provides: []Capability{{Name: "cuda-api"}}})
			}
			request := Request{
				OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"},
				Hosts: []Installed{{Host: "w1", Packages: []InstalledPackage{bash}}, g1}, Only: map[string]Extra{"g1": test.extra},
			}
			for _, p := range test.locked {
				request.Locked = append(request.Locked, Locked{p.parsed(t), p.id()})
			}
			c, err := Plan(t.Context(), w, request)
			if len(test.problems) > 0 {
				wantProblems(t, err, test.problems)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v := c.Together["g1"]; (v != "") != (len(test.extra.Together) > 0) || !strings.HasPrefix(v, test.extra.Version) || c.Together["w1"] != "" {
				t.Errorf("the versions are %v", c.Together)
			}
			var got []string
			for _, p := range c.Packages {
				if p.Name != "app" {
					got = append(got, p.Name+"-"+p.Version+"@"+strings.Join(p.Hosts, ","))
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("planned %v, want %s", got, test.want)
			}
		})
	}
}

// TestPlainModules: packages of a plain module are chosen by version and do not
// depend on the enabled stream of a server.
func TestPlainModules(t *testing.T) {
	stream := func(name, of string) string {
		return "---\ndocument: modulemd\nversion: 2\ndata: {name: nvidia-driver, stream: " + name + ", version: 1, arch: x86_64, artifacts: {rpms: [" + of + "]}}\n"
	}
	all, err := parseModules(strings.NewReader(stream("580-open", "cuda-3:580.82.07-1.el9.x86_64") + stream("595-open", "cuda-3:595.1.1-1.el9.x86_64")))
	if err != nil {
		t.Fatal(err)
	}
	cuda, err := nevra.Parse("cuda-3:580.82.07-1.el9.x86_64")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]modules{"hidden": all, "shown": all.without([]string{"nvidia-driver"})} {
		active, _ := m.active(map[string]string{"nvidia-driver": "595-open"}, nil, "el9", "x86_64")
		if m.hides(active)(&entry{NEVRA: cuda}) != (name == "hidden") {
			t.Errorf("%s is not %s", cuda, name)
		}
	}
}
