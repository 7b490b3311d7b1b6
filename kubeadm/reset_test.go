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

// withHost adds to the fake host the interfaces of a Linux host, and a podman with a network.
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

// clusterOn is a host with podman and with the files of a control plane.
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
	m.Network = leave.HostArtifacts{Links: []string{"cni0", "flannel.1", "cali*"}, Paths: []string{"/run/flannel", "/etc/cni/net.d/10-flannel.conflist"}, Dirs: []string{"/etc/cni/net.d", "/etc/cni"}}
	withHost(t, f)
	withKubeadm(t, f, m, kubetest.NewAPI(t))
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { return nil, os.RemoveAll(m.Path(kube.ClusterCA)) }
	r := leave.Record(m.Member)
	hosttest.MustBeDone(t, r.Done, false)
	hosttest.Do(t, func() error { return r.Run(t.Context()) })
	hosttest.MustBeDone(t, r.Done, true)
	hosttest.Do(t, func() error { return initStep(t, m).Run(t.Context()) })
	for name, text := range map[string]string{
		"etc/cni/net.d/10-flannel.conflist": "{}", "run/flannel/subnet.env": "x", "sys/fs/cgroup/cpuset/kubepods.slice/kubepods-pod1.slice/x/y": "",
		"var/lib/containerd/content": "image", "var/lib/etcd/member/wal": "data", "var/lib/kubelet/pods/x": "", "etc/kubernetes/manifests/mine.txt": "theirs", pki.RotationFile: `{"authority": "cluster"}`,
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
		t.Errorf("got data %q, %v", got, err)
	}
	hosttest.Do(t, back(t, initStep(t, m)), back(t, leave.Record(m.Member)))
	if f.Ran("kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock --skip-phases remove-etcd-member") != 1 ||
		f.Ran("ip link delete flannel.1") != 1 || f.Ran("ip link delete cni0") != 0 || f.Ran("ip link delete cali12ab") != 1 || f.Ran("ip link delete mycali0") != 0 {
		t.Errorf("ran %v", f.Calls)
	}
	if f.Ran("ip route delete 10.244.1.0/24 via 10.0.0.12 dev eth0") != 1 || f.Ran("ip route delete") != 1 {
		t.Errorf("ran %v, want only the route to pods deleted", f.Calls)
	}
	for name, want := range map[string]bool{
		"etc/cni/net.d/10-flannel.conflist": false, "run/flannel": false, "var/lib/kubelet": false, "etc/kubernetes/pki": false, "sys/fs/cgroup/cpuset/kubepods.slice": false,
		"etc/cni/net.d/87-podman-bridge.conflist": true, "etc/kubernetes/manifests/mine.txt": true,
		"var/lib/containerd/content": true, "var/lib/etcd": false, host.UndoDir + "/host.json": false, node.StateFile: false, pki.RotationFile: false, leave.ConfigFile: false,
	} {
		if f.Has(name) != want {
			t.Errorf("%s exists: got %v, want %v", name, !want, want)
		}
	}

	// The kept data is listed, survives another cluster, and can be deleted.
	data, err = leave.Kept(m.Member)
	if err != nil || len(data) != 2 || !strings.HasPrefix(data[0], leave.KeptDir+"/etcd-") || f.Get(data[0]+"/wal") != "data" {
		t.Fatalf("got kept data %v, %v", data, err)
	}
	r := leave.Record(m.Member)
	hosttest.Do(t, func() error { return r.Run(t.Context()) }, back(t, r))
	hosttest.Do(t, func() error { return leave.WipeData(t.Context(), m.Member) }, func() error { return leave.WipeData(t.Context(), m.Member) })
	if f.Has("var/lib/containerd/content") || !f.Has("var/lib/containerd/lost+found/x") || f.Has(leave.KeptDir) {
		t.Error("WipeData did not delete the kept data, or deleted other files")
	}
}

// TestKeptDataKeepsItsKey resets a host several times: the kept copy of etcd's data needs the
// encryption key of the same cluster. The key of a later cluster must not replace it.
func TestKeptDataKeepsItsKey(t *testing.T) {
	f, m := clusterOn(t)
	keys := encryption.Encryption(m.Machine, encryption.Secretbox, nil)
	hosttest.Do(t, func() error { return keys.Run(t.Context()) })
	text := f.Get(encryption.EncryptionFile)

	f.Fails("sync", 1, "power failure") // then the reset runs again
	if err := back(t, initStep(t, m))(); err == nil || !f.Has(encryption.EncryptionFile) {
		t.Fatalf("interrupted reset: got %v, want an error and the key kept", err)
	}
	delete(f.Answers, "sync")
	hosttest.Do(t, back(t, initStep(t, m)), back(t, initStep(t, m)), back(t, keys), back(t, keys))
	kept, err := leave.Kept(m.Member)
	if err != nil || len(kept) != 1 || f.Has(encryption.EncryptionFile) {
		t.Fatalf("got kept data %v, %v; key still exists: %v", kept, err, f.Has(encryption.EncryptionFile))
	}
	keptKey := kept[0] + "/encryption.yaml"
	if f.Get(keptKey) != text || kubetest.Mode(t, f, keptKey) != 0o600 || f.Get(kept[0]+"/wal") != "data" {
		t.Errorf("got kept key with mode %o:\n%s", kubetest.Mode(t, f, keptKey), f.Get(keptKey))
	}

	for _, left := range []string{"", "began\n"} {
		if left != "" {
			f.Put(t, node.StateFile, left)
		}
		hosttest.Do(t, func() error { return keys.Run(t.Context()) }, back(t, initStep(t, m)), back(t, keys))
		if f.Get(keptKey) != text || f.Has(encryption.EncryptionFile) {
			t.Errorf("after a later cluster with state %q: got kept key\n%s", left, f.Get(keptKey))
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

// TestResetStopsAtABusyMount: a mounted volume may have data of a user, so the reset deletes
// nothing in it.
func TestResetStopsAtABusyMount(t *testing.T) {
	f, m := clusterOn(t)
	hosttest.Do(t, back(t, initStep(t, m)))
	f.Put(t, "proc/self/mountinfo", "30 22 0:31 / /var/lib/kubelet/pods/a\\040b rw - nfs4 filer:/ rw\n")
	f.Put(t, "var/lib/kubelet/pods/a b/precious", "")
	f.Fails("umount /var/lib/kubelet/pods/a b", 32, "target is busy")
	err := leave.Record(m.Member).Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "unmount /var/lib/kubelet/pods/a b") || !f.Has("var/lib/kubelet/pods/a b/precious") {
		t.Errorf("got %v, want an unmount error and the volume's file kept", err)
	}
}

func TestResetLeavesAForeignClusterAlone(t *testing.T) {
	f, m := newFake(t)
	f.Put(t, kube.AdminConf, "theirs")
	if err := initStep(t, m).Undo(t.Context()); err != nil || len(f.Calls) != 0 {
		t.Errorf("got %v, ran %v", err, f.Calls)
	}
}
