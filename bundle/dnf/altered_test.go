package dnf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// TestAltered: rpm verifies the packages that dnf installed.
func TestAltered(t *testing.T) {
	h := aHost(t)
	rpmtest.Need(t, "ionice")
	agent := spec("agent", "library")
	agent.Files = append(agent.Files, rpm.File{Path: "/etc/agent.conf", Data: []byte("a=1\n"), Mode: 0o644, Config: true})
	from, repository := vendor(t, agent, spec("library"))
	tr := transaction(t, h, from, repository, "agent")
	want := func(what string, lines ...string) {
		t.Helper()
		if got, err := tr.Altered(t.Context()); err != nil || !slices.Equal(got, lines) {
			t.Errorf("%s: got %q, %v; want %q", what, got, err, lines)
		}
	}
	want("before the installation")
	if err := tr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("after the installation")
	at := func(name string) string { return filepath.Join(h.root, name) }
	rpmtest.Write(t, at("/etc/agent.conf"), []byte("a=2\n"))
	want("with a changed configuration file")
	rpmtest.Write(t, at("/opt/agent"), []byte("other"))
	if err := os.Chtimes(at("/opt/agent"), rpmtest.Built(), rpmtest.Built()); err != nil {
		t.Fatal(err)
	}
	want("with a changed program", "..5......  /opt/agent")
	if err := os.Remove(at("/opt/library")); err != nil {
		t.Fatal(err)
	}
	want("with a missing file", "..5......  /opt/agent", "missing  /opt/library")
	tr.Host = rooted{root: t.TempDir()} // without these packages
	got, err := tr.Altered(t.Context())
	if err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "package agent-1.0-1.x86_64 is not installed") {
		t.Errorf("erased: got %q, %v", got, err)
	}
}

func TestAlteredLines(t *testing.T) {
	const out = `S.5....T.  c /etc/kubernetes/kubelet.conf
.M.......  g /var/lib/kubelet
S.5....T.    /usr/bin/kubelet
missing   d /usr/share/doc/kubelet/README
missing   c /etc/sysconfig/kubelet
missing     /usr/bin/a name
package cri-tools-1.36.0-1.x86_64 is not installed
`
	want := []string{"S.5....T.  /usr/bin/kubelet", "missing  /usr/share/doc/kubelet/README", "missing  /usr/bin/a name", "package cri-tools-1.36.0-1.x86_64 is not installed"}
	if got := altered(out); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
