package nodesteps

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// belowRoot is a host whose dnf and rpm use the packages below a directory.
type belowRoot struct {
	host.Local
	root string
}

func (h belowRoot) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	argv := append([]string{cmd.Name}, cmd.Args...)
	for program, option := range map[string]string{"dnf": "--installroot=" + h.root, "rpm": "--root=" + h.root} {
		if i := slices.Index(argv, program); i >= 0 {
			argv = slices.Insert(argv, i+1, option)
		}
	}
	if os.Getuid() != 0 {
		argv = append([]string{"unshare", "--map-root-user"}, argv...)
	}
	cmd.Name, cmd.Args = argv[0], argv[1:]
	return h.Local.Run(ctx, cmd)
}

// packageWith is a package with the file /opt/tool.
func packageWith(t *testing.T, key *rpm.Key, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	s := rpm.Spec{Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "Apache-2.0", Time: rpmtest.Built(),
		Files: []rpm.File{{Path: "/opt/tool", Data: []byte(content), Mode: 0o755}}}
	if err := rpm.BuildPackage(&b, s, key); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bundleOf writes the files of a bundle with the package agent, and returns its site.
func bundleOf(t *testing.T, dir string, key *rpm.Key) *site.Site {
	t.Helper()
	public, err := key.Public()
	if err != nil {
		t.Fatal(err)
	}
	from := rpmtest.Vendor(t, public, map[string][]byte{"agent-1.0-1.rpm": packageWith(t, key, "agent", "tool")})
	base := rpmtest.Upstream + "vendor"
	c, err := rpm.Plan(t.Context(), from, rpm.Request{OS: "el9", Arch: "x86_64", Install: []string{"agent"},
		Repositories: []rpm.Repository{{Name: "vendor", BaseURL: base, GPGKeys: []string{base + "/key.asc"}}}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.Repodata(key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	lock := bundle.Lock{OS: "el9", Hosts: []string{"node1"}}
	for _, p := range c.Packages {
		r, _, err := from.Open(t.Context(), p.URL, 0)
		if err != nil {
			t.Fatal(err)
		}
		if files[rpm.PackagesDir+"/"+p.FileName], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		lock.Packages = append(lock.Packages, bundle.Package{NEVRA: nevra.Text{NEVRA: p.NEVRA}})
	}
	index := &bundle.Index{Lock: lock}
	for name, data := range files {
		index.Files = append(index.Files, bundle.Entry{Path: "rpm/el9/" + name})
		rpmtest.Write(t, filepath.Join(dir, "rpm/el9", name), data)
	}
	return &site.Site{Index: index, Node: config.Node{Name: "node1"}}
}

// TestDryRunTriesPackages: rpm of the host tries the packages of the bundle, and refuses one that has another content for
// a file of an installed package. Without that package it accepts them. Both leave the host as it was.
func TestDryRunTriesPackages(t *testing.T) {
	rpmtest.Need(t, "dnf", "rpm", "createrepo_c")
	if os.Getuid() != 0 && exec.Command("unshare", "--map-root-user", "true").Run() != nil {
		t.Skip("neither root nor user namespaces")
	}
	key, err := rpm.NewKey(rpmtest.Built().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := bundleOf(t, dir, key)
	base, stop, err := serveLoopback(t.Context(), os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var opened []string
	from := func(_ context.Context, path string) (io.ReadCloser, error) {
		opened = append(opened, path)
		return os.Open(filepath.Join(dir, path))
	}
	h := belowRoot{root: t.TempDir()}
	if err := dryRun(t.Context(), h, h.root, s, from, base, ""); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(opened, "rpm/el9/Packages/agent-1.0-1.x86_64.rpm") {
		t.Errorf("rpm tried no package of %q", opened)
	}
	own := filepath.Join(t.TempDir(), "own.rpm")
	rpmtest.Write(t, own, packageWith(t, key, "own", "another tool"))
	if _, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-i", "--nodeps", own}}); err != nil {
		t.Fatal(err)
	}
	err = dryRun(t.Context(), h, h.root, s, from, base, "")
	if want := "file /opt/tool from install of agent-1.0-1.x86_64 conflicts with file from package own-1.0-1.x86_64"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	out, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-qa", "--qf", "%{name} "}})
	if err != nil || strings.TrimSpace(string(out)) != "own" {
		t.Errorf("the host has %q, %v", out, err)
	}
}
