package runtime

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kubetest"
)

// pluginFiles are the files of the plugins, as cni.ConfFiles returns them.
func pluginFiles() []string {
	return []string{"10-flannel.conflist", "10-calico.conflist", "calico-kubeconfig", "05-cilium.conflist"}
}

// TestNetworkDirectory: on an empty host the runtime gets its own directory, and files of other programs
// and of an earlier cluster in the shared one are neither used nor removed.
func TestNetworkDirectory(t *testing.T) {
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	f.Put(t, host.SharedCNIDir+"/10-flannel.conflist", "{}") // of another cluster
	f.Put(t, host.SharedCNIDir+"/87-podman-bridge.conflist", "{}")
	o := options(t, "", Facts{Driver: Systemd})
	o.Network = pluginFiles()
	s, moved := ServiceStep(m, o), NetworkMovedStep(m)
	for range 2 { // the second run is that of a repeated command
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		hosttest.MustBeDone(t, moved.Done, true)
	}
	if !strings.Contains(f.Get(containerdConfig), "conf_dir = '"+host.CNIDir+"'") || f.Has(host.CNIDir+"/10-flannel.conflist") {
		t.Errorf("the runtime reads a foreign network:\n%s", f.Get(containerdConfig))
	}
	f.Put(t, host.CNIDir+"/10-flannel.conflist", "{}")
	if err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Has(host.CNIDir+"/10-flannel.conflist") || !f.Has(host.SharedCNIDir+"/10-flannel.conflist") || !f.Has(host.SharedCNIDir+"/87-podman-bridge.conflist") {
		t.Error("the undo left airgap's file, or removed another program's")
	}
}

// olderHost is a node that an airgap without its own network directory has installed.
func olderHost(t *testing.T, files map[string]string) (*hosttest.Fake, host.Machine, Options) {
	t.Helper()
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	o := options(t, "", Facts{Driver: Systemd})
	o.Network = pluginFiles()
	f.Put(t, containerdConfig, ours+"version = 3\n")
	f.Put(t, host.SharedCNIDir+"/87-podman-bridge.conflist", "{}")
	for name, text := range files {
		f.Put(t, host.SharedCNIDir+"/"+name, text)
	}
	return f, m, o
}

// TestNetworkMoves: an upgrade copies the pod network's file before the runtime reads the new directory,
// and removes the old one. podman's stays.
func TestNetworkMoves(t *testing.T) {
	f, m, o := olderHost(t, map[string]string{"10-flannel.conflist": `{"name":"cbr0"}`})
	restart, there := f.Answers["systemctl restart containerd"], false
	f.Answers["systemctl restart containerd"] = func(c host.Cmd) ([]byte, error) {
		there = f.Has(host.CNIDir + "/10-flannel.conflist")
		return restart(c)
	}
	s, moved := ServiceStep(m, o), NetworkMovedStep(m)
	plan, err := s.Plan(t.Context())
	if err != nil || !slices.Contains(plan, "copy /etc/cni/net.d/10-flannel.conflist to /etc/airgap/cni/net.d") {
		t.Errorf("plan %q, %v", plan, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !there || kubetest.Mode(t, f, host.CNIDir+"/10-flannel.conflist") != 0o600 || f.Get(host.CNIDir+"/10-flannel.conflist") != `{"name":"cbr0"}` {
		t.Errorf("the runtime restarted without the pod network (%t)", there)
	}
	hosttest.MustBeDone(t, s.Done, true)
	hosttest.MustBeDone(t, moved.Done, false)
	if err := moved.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, moved.Done, true)
	if f.Has(host.SharedCNIDir+"/10-flannel.conflist") || !f.Has(host.SharedCNIDir+"/87-podman-bridge.conflist") {
		t.Error("airgap's old file is there, or podman's is gone")
	}
}

// TestNetworkMovesInterrupted: after a copy, the repeated command changes the configuration and still
// removes the old file.
func TestNetworkMovesInterrupted(t *testing.T) {
	f, m, o := olderHost(t, map[string]string{"05-cilium.conflist": "{}"})
	if err := (service{m: m, options: o}).keepNetwork(o.Runtime.engine()); err != nil {
		t.Fatal(err)
	}
	if err := ServiceStep(m, o).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := NetworkMovedStep(m).Run(t.Context()); err != nil || f.Has(host.SharedCNIDir+"/05-cilium.conflist") || !f.Has(host.CNIDir+"/05-cilium.conflist") {
		t.Errorf("the files are not moved (%v)", err)
	}
}

// TestNetworkMovesAfterThePlugin: a new pod of the network plugin has written its file to the new directory. It stays, and
// the old one is removed.
func TestNetworkMovesAfterThePlugin(t *testing.T) {
	f, m, o := olderHost(t, map[string]string{"10-flannel.conflist": `{"name":"cbr0"}`})
	f.Put(t, host.CNIDir+"/10-flannel.conflist", `{"name":"new"}`)
	if err := ServiceStep(m, o).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := NetworkMovedStep(m).Run(t.Context()); err != nil || f.Has(host.SharedCNIDir+"/10-flannel.conflist") || f.Get(host.CNIDir+"/10-flannel.conflist") != `{"name":"new"}` {
		t.Errorf("the files are not moved (%v)", err)
	}
}

// TestCalicoMovesLater: Calico's file names a kubeconfig in the old directory, which its pods renew until
// they are new. Both stay until then.
func TestCalicoMovesLater(t *testing.T) {
	f, m, o := olderHost(t, map[string]string{
		"10-calico.conflist": `{"plugins":[{"kubernetes":{"kubeconfig":"/etc/cni/net.d/calico-kubeconfig"}}]}`, "calico-kubeconfig": "token",
	})
	if err := ServiceStep(m, o).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved := NetworkMovedStep(m)
	hosttest.MustBeDone(t, moved.Done, true)
	if !f.Has(host.CNIDir+"/10-calico.conflist") || !f.Has(host.SharedCNIDir+"/calico-kubeconfig") {
		t.Error("a pod would have no network")
	}
	f.Put(t, host.CNIDir+"/10-calico.conflist", `{"plugins":[{"kubernetes":{"kubeconfig":"/etc/airgap/cni/net.d/calico-kubeconfig"}}]}`)
	hosttest.MustBeDone(t, moved.Done, false)
	plan, err := moved.Plan(t.Context())
	if want := []string{"remove /etc/cni/net.d/10-calico.conflist", "remove /etc/cni/net.d/calico-kubeconfig"}; err != nil || !slices.Equal(plan, want) {
		t.Errorf("plan %q, %v", plan, err)
	}
	if err := moved.Run(t.Context()); err != nil || f.Has(host.SharedCNIDir+"/calico-kubeconfig") {
		t.Errorf("the kubeconfig is still there (%v)", err)
	}
}

// TestForeignNetworkDirectory: a drop-in with another directory is an error that names it, because no pod
// could start.
func TestForeignNetworkDirectory(t *testing.T) {
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	o := options(t, "{plugins: {io.containerd.cri.v1.runtime: {cni: {conf_dir: /etc/cni/net.d}}}}", Facts{Driver: Systemd})
	if err := ServiceStep(m, o).Run(t.Context()); err == nil || !strings.Contains(err.Error(), `reads the pod network from "/etc/cni/net.d" instead of /etc/airgap/cni/net.d`) {
		t.Errorf("got %v", err)
	}
}

// TestNetworkDirectoryIsFixed: airgap.yaml cannot set another directory, for any runtime.
func TestNetworkDirectoryIsFixed(t *testing.T) {
	for text, bad := range map[string]bool{
		"{plugins: {io.containerd.cri.v1.runtime: {cni: {conf_dir: /etc/cni/net.d}}}}": true,
		"{plugins: {io.containerd.cri.v1.runtime: {cni: {max_conf_num: 1}}}}":          false,
		"{crio: {network: {network_dir: /etc/cni/net.d}}}":                             true,
		"{crio: {network: {network_dir: /etc/airgap/cni/net.d}}}":                      false,
	} {
		if errs := options(t, text, Facts{}).Runtime.networkMoved(nil); (len(errs) > 0) != bad {
			t.Errorf("%s: %v", text, errs)
		}
	}
}
