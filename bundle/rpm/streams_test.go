package rpm

import (
	"fmt"
	"strings"
	"testing"
)

// moduleDocumentOf writes the modulemd document of a build: "NAME:STREAM:VERSION:CONTEXT".
func moduleDocumentOf(id, requires string, rpms ...string) string {
	f := strings.Split(id, ":")
	return fmt.Sprintf("---\ndocument: modulemd\nversion: 2\ndata:\n  name: %s\n  stream: %q\n  version: %s\n  context: %s\n  arch: x86_64\n"+
		"  dependencies:\n  - requires: {%s}\n  artifacts:\n    rpms: [\"%s\"]\n",
		f[0], f[1], f[2], f[3], requires, strings.Join(rpms, `", "`))
}

const defaultStream = "---\ndocument: modulemd-defaults\nversion: 1\ndata: {module: app, stream: s}\n"

// TestOlderBuilds: the older builds of an active stream are available, as in dnf.
func TestOlderBuilds(t *testing.T) {
	const r1, r2 = "1.module+el9+1", "1.module+el9+2"
	packages := []pkg{
		{nevra: "app-1-" + r1 + ".x86_64"}, {nevra: "app-2-" + r2 + ".x86_64"},
		{nevra: "app-plugin-1-" + r1 + ".x86_64", requires: []string{"app = 1"}}, {nevra: "app-plugin-2-" + r2 + ".x86_64", requires: []string{"app = 2"}},
		{nevra: "app-9-1.el9.x86_64"}, {nevra: "apple-1-1.el9.x86_64", provides: []string{"app = 9"}},
		{nevra: "other-3-1.module+el9+9.x86_64"}, {nevra: "user-1-1.x86_64", requires: []string{"app >= 9"}},
	}
	builds := moduleDocumentOf("app:s:1:c", "platform: [el9]", "app-0:1-"+r1+".x86_64", "app-plugin-0:1-"+r1+".x86_64") +
		moduleDocumentOf("app:s:2:c", "platform: [el9]", "app-0:2-"+r2+".x86_64", "app-plugin-0:2-"+r2+".x86_64") +
		moduleDocumentOf("app:t:3:c", "platform: [el9]", "other-0:3-1.module+el9+9.x86_64")
	usual := builds + defaultStream
	contexts := moduleDocumentOf("app:s:1:c1", "platform: [el9]", "app-0:1-"+r1+".x86_64") +
		moduleDocumentOf("app:s:2:c2", "platform: [el9]", "app-0:2-"+r2+".x86_64") + defaultStream
	another := moduleDocumentOf("app:s:1:c1", "platform: [el8]", "app-0:1-"+r1+".x86_64") +
		moduleDocumentOf("app:s:2:c2", "platform: [el9]", "app-0:2-"+r2+".x86_64") + defaultStream
	newer := moduleDocumentOf("app:s:1:c", "platform: [el9]", "app-0:1-"+r1+".x86_64", "app-0:9-1.el9.x86_64") +
		moduleDocumentOf("app:s:2:c", "platform: [el8]", "app-0:2-"+r2+".x86_64") + defaultStream
	old := has(t, "app-1-"+r1+".x86_64", "app")
	old.Provides = []Capability{self(old.NEVRA)}
	for _, c := range []struct {
		name, modules, install string
		streams                map[string]string
		installed              []InstalledPackage
		want                   string
		problems               []string
	}{
		{name: "the newest", modules: usual, install: "app-plugin", want: "app-2<app-plugin app-plugin-2<packages.install"},
		{name: "for an installed older build", modules: usual, install: "app-plugin", installed: []InstalledPackage{old}, want: "app-plugin-1<packages.install"},
		{name: "of an enabled stream", modules: builds, streams: map[string]string{"app": "s"}, install: "app-plugin", installed: []InstalledPackage{old}, want: "app-plugin-1<packages.install"},
		{name: "of another context", modules: contexts, install: "app-1", want: "app-1<packages.install"},
		{name: "for another platform", modules: another, install: "app-1", want: "app-1<packages.install"},
		{name: "the newest build is for another system", modules: newer, install: "app-1", problems: []string{"no package provides app-1"}},
		{name: "requested", modules: usual, install: "app-1", want: "app-1<packages.install"},
		{name: "with its release", modules: usual, install: "app-1-" + r1, want: "app-1<packages.install"},
		{name: "of an inactive stream", modules: usual, install: "other", problems: []string{"no package provides other"}},
		{name: "not of a stream, but with its name", modules: usual, install: "app-9", problems: []string{"no package provides app-9 (the newest is app-2-1.module+el9+2.x86_64)"}},
		{name: "not of a stream, but provides its name", modules: usual, install: "user", problems: []string{"no package provides app >= 9"}},
		{name: "the stream is disabled", modules: usual, streams: map[string]string{"app": ""}, install: "user", want: "app-9<user user-1<packages.install"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := web{}
			host := Installed{Host: "db1", Packages: c.installed, Streams: c.streams}
			repository := w.publishModules(t, "https://upstream/vendor", aKey(), c.modules, packages...)
			closure, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Install: []string{c.install}, Hosts: []Installed{host}})
			if len(c.problems) > 0 {
				wantProblems(t, err, c.problems)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(closure); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHiddenFiles: a package of an inactive stream is not chosen for a file that only the file lists have.
func TestHiddenFiles(t *testing.T) {
	const hidden = "tool-2-1.module+el9+1.x86_64"
	w := web{}
	modules := moduleDocumentOf("tool:s:1:c", "platform: [el9]", "tool-0:2-1.module+el9+1.x86_64")
	repository := w.publishModules(t, "https://upstream/vendor", aKey(), modules,
		pkg{nevra: hidden, moreFiles: []string{"/opt/tool"}}, pkg{nevra: "plain-1-1.x86_64", moreFiles: []string{"/opt/tool"}}, pkg{nevra: "app-1-1.x86_64", requires: []string{"/opt/tool"}})
	c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Install: []string{"app"}, Hosts: withBash()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(c), "app-1<packages.install plain-1<app"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
