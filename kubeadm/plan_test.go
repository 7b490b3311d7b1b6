package kubeadm

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/step"
)

// wantPlan asks the step what it would change and wants nothing changed by
// the question. The lab's root is left out of the paths.
func wantPlan(t *testing.T, f *fakeHost, s step.Step, want ...string) {
	t.Helper()
	before := f.tree(t)
	got, err := s.Plan(t.Context())
	if err != nil {
		t.Fatalf("plan %s: %v", s.Name, err)
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], f.root, "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("plan of %s:\n  %s\nwant:\n  %s", s.Name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if after := f.tree(t); !slices.Equal(before, after) {
		t.Errorf("plan of %s changed files: %v, before %v", s.Name, after, before)
	}
}

func (f *fakeHost) tree(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, _ := os.ReadFile(path) // a socket has none
		all = append(all, path+" "+string(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPlanOfHostSettings(t *testing.T) {
	f, m := newFake(t)
	f.put(t, "sys/module/overlay/refcnt", "1")
	f.put(t, "sys/module/vxlan/refcnt", "1")
	f.put(t, "proc/sys/net/netfilter/nf_conntrack_max", "65536")
	f.put(t, modulesFile, "mine\n")
	wantPlan(t, f, Modules(m, map[string]string{"vxlan": "VXLAN"}), "load kernel module br_netfilter", "write "+modulesFile+" (changed)")

	values(t, f)
	for _, gone := range []string{"call-iptables", "call-ip6tables"} {
		if err := os.Remove(f.root + "/proc/sys/net/bridge/bridge-nf-" + gone); err != nil {
			t.Fatal(err)
		}
	}
	wantPlan(t, f, Sysctls(m),
		"net.ipv4.ip_forward 0 → 1",
		"net.bridge.bridge-nf-call-iptables → 1", "net.bridge.bridge-nf-call-ip6tables → 1", // br_netfilter is not loaded yet
		"fs.inotify.max_user_instances 128 → 8192", "vm.overcommit_memory 0 → 1", "kernel.panic 0 → 10",
		"write "+SysctlFile+" (new)")
}

func TestPlanOfRuntime(t *testing.T) {
	f, m := newFake(t)
	withContainerd(t, f, m)
	files := runtimeStep(t, m, "2.3.7")
	wantPlan(t, f, files, "unpack containerd-2.3.7-linux-amd64.tar.gz into "+BinDir, "unpack "+runcName("1.5.2", "amd64")+" into "+BinDir)
	if err := files.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.put(t, BinDir+"/runc", "somebody's own")
	if err := os.Remove(m.path(BinDir + "/ctr")); err != nil {
		t.Fatal(err)
	}
	wantPlan(t, f, files, "put back "+BinDir+"/ctr (missing)", "put back "+BinDir+"/runc (changed)")

	f.fails("systemctl is-enabled --quiet containerd", 1, "")
	f.fails("systemctl is-active --quiet containerd", 3, "")
	wantPlan(t, f, RuntimeService(m, options(t, "", Facts{Driver: Systemd})),
		"write "+containerdConfig+" (new)", "write "+containerd().unit+" (new)", "enable containerd.service", "start containerd.service")
}

func TestPlanOfNode(t *testing.T) {
	f, m := newFake(t)
	s := initStep(t, m)
	init := "kubeadm init: Kubernetes v1.36.3, API server at 192.0.2.11:6443"
	wantPlan(t, f, s, "write "+ConfigFile+" (new)", "enable kubelet.service", init)
	f.put(t, stateFile, "began\n")
	wantPlan(t, f, s, "write "+ConfigFile+" (new)", "kubeadm reset: takes back the interrupted init", init)
	f.put(t, stateFile, "ended\n")
	wantPlan(t, f, s, "enable and start kubelet.service, and wait for the node")

	f, m = newFake(t)
	join := Join(m, section(t, `version: 1.36.3`), Node{Name: "w1"}, JoinMaterial{APIServer: "192.0.2.11:6443"}, nil)
	wantPlan(t, f, join, "enable kubelet.service", "kubeadm join: node w1, API server at 192.0.2.11:6443")
	f.put(t, AdminConf, "theirs")
	if _, err := join.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "already belongs to a cluster") {
		t.Errorf("on a node of another cluster: %v", err)
	}
}
