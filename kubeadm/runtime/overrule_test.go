package runtime

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// toolkitDropIn makes another handler the default, without a driver, in the format of a GPU toolkit.
const toolkitDropIn = `version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "nvidia"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
`

// TestForeignDropInIsOverruled checks with the real runtimes that a foreign file that changes the
// cgroup driver stays unchanged, that the driver is the host's again, and that a reset removes only
// airgap's files.
func TestForeignDropInIsOverruled(t *testing.T) {
	for name, theirs := range map[string]struct{ file, text string }{
		"containerd": {containerdDropIns + "/99-nvidia.toml", toolkitDropIn},
		"CRI-O":      {crioDropIns + "/99-site.conf", "[crio.runtime]\ncgroup_manager = \"cgroupfs\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m, o := withNVIDIA(t, name)
			o.NVIDIA = false
			e := o.Runtime.engine()
			f.Put(t, KubeletConfig, "healthzPort: 0\ncgroupDriver: systemd\n")
			node := ServiceStep(m, o)
			if err := node.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			agreement := agreeing(m)
			hosttest.MustBeDone(t, agreement.Done, true)
			if f.Has(e.driver) {
				t.Error("airgap set a driver although no file had changed it")
			}

			f.Put(t, theirs.file, theirs.text)
			f.Put(t, e.dropIns+"/50-site"+theirs.file[len(theirs.file)-5:], "") // sets no driver
			hosttest.MustBeDone(t, agreement.Done, false)
			if a, err := ReadBack(t.Context(), m); err != nil || a.Runtime != Cgroupfs || !slices.Equal(a.Others, []string{theirs.file}) {
				t.Errorf("read back %+v, %v", a, err)
			}
			plan, err := agreement.Plan(t.Context())
			if want := []string{"write " + e.driver + " (it overrides " + theirs.file + ")", "restart " + e.name + ".service", "restart kubelet.service"}; err != nil || !slices.Equal(plan, want) {
				t.Errorf("plan %q, %v, want %q", plan, err, want)
			}
			f.Calls = nil
			if err := agreement.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustBeDone(t, agreement.Done, true)
			if f.Get(theirs.file) != theirs.text || !strings.HasPrefix(f.Get(e.driver), ours) || !strings.Contains(f.Get(e.driver), theirs.file) {
				t.Errorf("foreign:\n%s\nairgap's:\n%s", f.Get(theirs.file), f.Get(e.driver))
			}
			if f.Ran("systemctl restart "+e.name) != 1 || f.Ran("systemctl restart kubelet") != 1 {
				t.Errorf("ran %q", f.Calls)
			}

			// The toolkit writes its file at every start. That has no effect now, also after airgap
			// has written its configuration again.
			f.Put(t, theirs.file, theirs.text+"# again\n")
			if err := node.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustBeDone(t, agreement.Done, true)
			if err := node.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			if f.Has(e.driver) || !f.Has(theirs.file) {
				t.Errorf("after the undo airgap's file exists: %t, the foreign one: %t", f.Has(e.driver), f.Has(theirs.file))
			}
		})
	}
}

// TestForeignDropInThatWins covers drop-ins that airgap cannot override: one that is read later, and
// any in containerd 1.7, where a drop-in replaces the plugin's table. The error names the file, and
// airgap's drop-in is removed.
func TestForeignDropInThatWins(t *testing.T) {
	for name, theirs := range map[string]struct{ file, text string }{
		"containerd":     {containerdDropIns + "/zzz.toml", "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup = false\n"},
		"containerd 1.7": {containerdDropIns + "/99-nvidia.toml", toolkitDropIn},
		"CRI-O":          {crioDropIns + "/zzz.conf", "[crio.runtime]\ncgroup_manager = \"cgroupfs\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m, o := withNVIDIA(t, name)
			o.NVIDIA = false
			f.Put(t, KubeletConfig, "healthzPort: 0\ncgroupDriver: systemd\n")
			if err := ServiceStep(m, o).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.Put(t, theirs.file, theirs.text)
			f.Calls = nil
			err := agreeing(m).Run(t.Context())
			failed, is := errors.AsType[*host.Failure](err)
			if !is || !strings.Contains(err.Error(), theirs.file) || !strings.Contains(failed.Next, "remove "+theirs.file+" from") {
				t.Errorf("got %v", err)
			}
			if f.Has(o.Runtime.engine().driver) || f.Ran("systemctl restart") > 0 || f.Get(theirs.file) != theirs.text {
				t.Errorf("airgap's file exists: %t, the foreign one:\n%s\nran %q", f.Has(o.Runtime.engine().driver), f.Get(theirs.file), f.Calls)
			}
		})
	}
}
