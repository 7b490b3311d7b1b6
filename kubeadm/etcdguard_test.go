package kubeadm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kubetest"
)

func TestEtcdGuard(t *testing.T) {
	f, m := newFake(t)
	s := EtcdGuard(m)
	hosttest.MustBeDone(t, s.Done, false)
	hosttest.WantPlan(t, f, s, "write "+etcdGuardFile+" (new)")
	hosttest.Do(t, func() error { return s.Run(t.Context()) })
	hosttest.MustBeDone(t, s.Done, true)
	if f.Ran("systemctl daemon-reload") != 1 {
		t.Errorf("ran %v", f.Calls)
	}
	hosttest.Do(t, func() error { return s.Undo(t.Context()) })
	hosttest.MustBeDone(t, s.Done, false)
	if f.Has(etcdGuardFile) {
		t.Error("undo keeps the drop-in")
	}
}

// TestEtcdGuardCommand runs the command of the drop-in: only a member without data fails.
func TestEtcdGuardCommand(t *testing.T) {
	_, command, ok := strings.Cut(etcdGuardText, "/bin/sh -c '")
	command, _, ends := strings.Cut(command, "'\n")
	if !ok || !ends {
		t.Fatalf("no command in %s", etcdGuardText)
	}
	for name, test := range map[string]struct {
		made   []string
		starts bool
	}{
		"a worker, or kubeadm before etcd":       {nil, true},
		"a member with its data":                 {[]string{"etc/kubernetes/manifests/etcd.yaml", "var/lib/etcd/member/snap"}, true},
		"a member whose volume is not mounted":   {[]string{"etc/kubernetes/manifests/etcd.yaml", "var/lib/etcd"}, false},
		"a member without even a data directory": {[]string{"etc/kubernetes/manifests/etcd.yaml"}, false},
		"an empty file system for another node":  {[]string{"var/lib/etcd/lost+found"}, true},
	} {
		root := t.TempDir()
		for _, path := range test.made {
			if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		inRoot := strings.NewReplacer("-e /etc/", "-e "+root+"/etc/", "-d /var/", "-d "+root+"/var/").Replace(command)
		out, err := exec.Command("/bin/sh", "-c", inRoot).CombinedOutput()
		if (err == nil) != test.starts || !test.starts && !strings.Contains(string(out), "airgap: /var/lib/etcd/member is missing") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestInitRemovesTheGuard: a guard that an earlier cluster of this host left would stop the kubelet
// in the middle of kubeadm init.
func TestInitRemovesTheGuard(t *testing.T) {
	f, m := newFake(t)
	withKubeadm(t, f, m, kubetest.NewAPI(t))
	withHost(t, f)
	f.Put(t, etcdGuardFile, etcdGuardText)
	hosttest.Do(t, func() error { return initStep(t, m).Run(t.Context()) })
	if f.Has(etcdGuardFile) {
		t.Error("the guard is still there")
	}
}
