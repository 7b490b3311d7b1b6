package runtime

import (
	"path"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/selinuxtest"
)

// TestSELinuxPolicy asks a policy what airgap's runtimes rely on: the label of each program, the domain in
// which systemd starts the runtime, and its access to the files that airgap writes. The lists are those of
// the installation and of the reset.
func TestSELinuxPolicy(t *testing.T) {
	p := selinuxtest.Named(t)
	for _, e := range engines() {
		t.Run(e.setting(), func(t *testing.T) {
			program := p.TypeOf(t, e.program(), "file")
			domain := p.Domain(t, "init_t", program)
			t.Logf("%s has type %s, and systemd starts it in the domain %s", e.program(), program, domain)
			if domain == "" || domain == "unconfined_service_t" || domain == "initrc_t" {
				t.Fatalf("%s has no domain of a runtime: containers would have none either", e.program())
			}
			needs := func(name, kind, class string, permissions ...string) {
				of := p.TypeOf(t, name, kind)
				denied := p.Denied(t, domain, of, class, permissions...)
				if t.Logf("%s has type %s", name, of); len(denied) > 0 {
					t.Errorf("%s has no access to %s (%s): %v", domain, name, of, denied)
				}
			}
			for _, name := range append(e.programs, path.Base(e.runc)) {
				needs(path.Join(e.bin, name), "file", "file", "execute", "read", "open", "map")
			}
			needs(nvidiaProgram, "file", "file", "execute")
			needs("/opt/cni/bin/bridge", "file", "file", "execute", "read", "open", "map")
			for _, name := range append([]string{e.config, e.nvidia, e.driver, host.CNIDir + "/10-flannel.conflist"}, e.extra...) {
				needs(name, "file", "file", "read", "open")
			}
			for _, dir := range []string{host.CNIDir, e.dropIns, e.mirrors} {
				if dir != "" {
					needs(dir, "dir", "dir", "read", "search")
				}
			}
			for _, dir := range []string{path.Dir(e.socket), "/var/lib/cni", "/var/lib/" + map[bool]string{true: "crio", false: "containerd"}[e.once]} {
				needs(dir, "dir", "dir", "write", "add_name", "remove_name", "search")
			}
		})
	}
}
