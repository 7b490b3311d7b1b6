package kubeadm

import (
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/pki"
)

// withHost gives the fake what every Linux has, and a podman with a network.
func withHost(t *testing.T, f *hosttest.Fake) {
	t.Helper()
	f.Answers["ip -json link"] = func(host.Cmd) ([]byte, error) { return []byte(`[{"ifname":"lo"},{"ifname":"eth0"}]`), nil }
	f.Put(t, "etc/cni/net.d/87-podman-bridge.conflist", "{}")
	f.Put(t, "var/lib/containerd/lost+found/x", "")
	f.Answers["cp"] = func(c host.Cmd) ([]byte, error) { return nil, os.CopyFS(c.Args[3], os.DirFS(c.Args[2])) }
}

func back(t *testing.T, s step.Step) func() error {
	return func() error { return s.Undo(t.Context()) }
}

// clusterOn is a control plane that ran on a host with podman.
func clusterOn(t *testing.T) (*hosttest.Fake, Machine) {
	f, m := newFake(t)
	m.Pods = "10.244.0.0/16"
	f.Answers["ip -json route"] = func(host.Cmd) ([]byte, error) {
		return []byte(`[
			{"dst":"default","gateway":"10.0.0.1","dev":"eth0"},
			{"dst":"10.0.0.0/24","dev":"eth0"},
			{"dst":"10.244.1.0/24","gateway":"10.0.0.12","dev":"eth0"},
			{"dst":"10.88.0.0/16","gateway":"10.0.0.1","dev":"eth0"}
		]`), nil
	}
	m.Network = leave.Traces{Links: []string{"cni0", "flannel.1", "cali*"}, Paths: []string{"/run/flannel", "/etc/cni/net.d/10-flannel.conflist"}, Dirs: []string{"/etc/cni/net.d", "/etc/cni"}}
	withHost(t, f)
	withKubeadm(t, f, m, kubetest.NewAPI(t))
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { return nil, os.RemoveAll(m.Path(kube.ClusterCA)) }
	r := leave.Record(m.Member)
	hosttest.MustHold(t, r.Done, false)
	hosttest.Do(t, func() error { return r.Run(t.Context()) })
	hosttest.MustHold(t, r.Done, true)
	hosttest.Do(t, func() error { return initStep(t, m).Run(t.Context()) })
	for name, text := range map[string]string{
		"etc/cni/net.d/10-flannel.conflist": "{}", "run/flannel/subnet.env": "x", "sys/fs/cgroup/cpuset/kubepods.slice/kubepods-pod1.slice/x/y": "",
		"var/lib/containerd/content": "image", "var/lib/etcd/member/wal": "data", "var/lib/kubelet/pods/x": "", "etc/kubernetes/manifests/mine.txt": "theirs", pki.SuccessionFile: `{"authority": "cluster"}`,
	} {
		f.Put(t, name, text)
	}
	hosttest.Do(t, func() error {
		return os.RemoveAll(m.Path("/sys/fs/cgroup/cpuset/kubepods.slice/kubepods-pod1.slice/x"))
	})
	f.Answers["ip -json link"] = func(host.Cmd) ([]byte, error) {
		return []byte(`[{"ifname":"lo"},{"ifname":"eth0"},{"ifname":"flannel.1"},{"ifname":"cali12ab"},{"ifname":"mycali0"}]`), nil
	}
	return f, m
}

func TestReset(t *testing.T) {
	f, m := clusterOn(t)
	data, err := leave.Data(m.Member)
	if got := strings.Join(data, " "); err != nil || got != "/var/lib/containerd /var/lib/etcd" {
		t.Errorf("data: %q, %v", got, err)
	}
	hosttest.Do(t, back(t, initStep(t, m)), back(t, leave.Record(m.Member)))
	if f.Ran("kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock --skip-phases remove-etcd-member") != 1 ||
		f.Ran("ip link delete flannel.1") != 1 || f.Ran("ip link delete cni0") != 0 || f.Ran("ip link delete cali12ab") != 1 || f.Ran("ip link delete mycali0") != 0 {
		t.Errorf("ran %v", f.Calls)
	}
	if f.Ran("ip route delete 10.244.1.0/24 via 10.0.0.12 dev eth0") != 1 || f.Ran("ip route delete") != 1 {
		t.Errorf("of the routes the one to pods goes: ran %v", f.Calls)
	}
	for name, want := range map[string]bool{
		"etc/cni/net.d/10-flannel.conflist": false, "run/flannel": false, "var/lib/kubelet": false, "etc/kubernetes/pki": false, "sys/fs/cgroup/cpuset/kubepods.slice": false,
		"etc/cni/net.d/87-podman-bridge.conflist": true, "etc/kubernetes/manifests/mine.txt": true,
		"var/lib/containerd/content": true, "var/lib/etcd": false, host.UndoDir + "/host.json": false, node.StateFile: false, pki.SuccessionFile: false, leave.ConfigFile: false,
	} {
		if f.Has(name) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}

	// What was kept is told, survives another cluster, and can be wiped.
	data, err = leave.Kept(m.Member)
	if err != nil || len(data) != 2 || !strings.HasPrefix(data[0], leave.KeptDir+"/etcd-") || f.Get(data[0]+"/wal") != "data" {
		t.Fatalf("kept: %v, %v", data, err)
	}
	r := leave.Record(m.Member)
	hosttest.Do(t, func() error { return r.Run(t.Context()) }, back(t, r))
	hosttest.Do(t, func() error { return leave.WipeData(t.Context(), m.Member) }, func() error { return leave.WipeData(t.Context(), m.Member) })
	if f.Has("var/lib/containerd/content") || !f.Has("var/lib/containerd/lost+found/x") || f.Has(leave.KeptDir) {
		t.Error("the data is still there, or more than the data is gone")
	}
}

// TestKeptDataKeepsItsKey resets a host twice: etcd's data is worth little
// without the key beside it, and no use with the key of a later life, which left
// no data.
func TestKeptDataKeepsItsKey(t *testing.T) {
	f, m := clusterOn(t)
	keys := encryption.Encryption(m.Machine, encryption.Secretbox, nil)
	hosttest.Do(t, func() error { return keys.Run(t.Context()) })
	text := f.Get(encryption.EncryptionFile)

	f.Fails("sync", 1, "the power went") // and the reset is run again
	if err := back(t, initStep(t, m))(); err == nil || !f.Has(encryption.EncryptionFile) {
		t.Fatalf("the cut: %v", err)
	}
	delete(f.Answers, "sync")
	hosttest.Do(t, back(t, initStep(t, m)), back(t, initStep(t, m)), back(t, keys), back(t, keys))
	kept, err := leave.Kept(m.Member)
	if err != nil || len(kept) != 1 || f.Has(encryption.EncryptionFile) {
		t.Fatalf("kept: %v, %v; the key stayed: %v", kept, err, f.Has(encryption.EncryptionFile))
	}
	beside := kept[0] + "/encryption.yaml"
	if f.Get(beside) != text || kubetest.Mode(t, f, beside) != 0o600 || f.Get(kept[0]+"/wal") != "data" {
		t.Errorf("beside the data, with mode %o:\n%s", kubetest.Mode(t, f, beside), f.Get(beside))
	}

	for _, left := range []string{"", "began\n"} {
		if left != "" {
			f.Put(t, node.StateFile, left)
		}
		hosttest.Do(t, func() error { return keys.Run(t.Context()) }, back(t, initStep(t, m)), back(t, keys))
		if f.Get(beside) != text || f.Has(encryption.EncryptionFile) {
			t.Errorf("after a life that left the state %q the kept key is\n%s", left, f.Get(beside))
		}
	}
}

func TestResetKeepsNothingUnwanted(t *testing.T) {
	f, m := clusterOn(t)
	m.Wipe = true
	hosttest.Do(t, back(t, initStep(t, m)))
	if f.Ran("kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock") != 1 ||
		f.Ran("kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock --skip") != 0 || f.Has(leave.KeptDir) {
		t.Errorf("ran %v", f.Calls)
	}
}

// A volume that is still mounted has somebody's data: nothing is deleted
// through it.
func TestResetStopsAtABusyMount(t *testing.T) {
	f, m := clusterOn(t)
	hosttest.Do(t, back(t, initStep(t, m)))
	f.Put(t, "proc/self/mountinfo", "30 22 0:31 / /var/lib/kubelet/pods/a\\040b rw - nfs4 filer:/ rw\n")
	f.Put(t, "var/lib/kubelet/pods/a b/precious", "")
	f.Fails("umount /var/lib/kubelet/pods/a b", 32, "target is busy")
	err := leave.Record(m.Member).Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "unmount /var/lib/kubelet/pods/a b") || !f.Has("var/lib/kubelet/pods/a b/precious") {
		t.Errorf("got %v", err)
	}
}

func TestResetLeavesAForeignClusterAlone(t *testing.T) {
	f, m := newFake(t)
	f.Put(t, kube.AdminConf, "theirs")
	if err := initStep(t, m).Undo(t.Context()); err != nil || len(f.Calls) != 0 {
		t.Errorf("got %v, ran %v", err, f.Calls)
	}
}
