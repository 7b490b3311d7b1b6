package leave

import (
	"os"
	"strings"
	"testing"
)

// TestThaw: what a killed runc has left in the freezer can be ended again; other cgroups are
// not ours.
func TestThaw(t *testing.T) {
	f, m := newMember(t)
	const pods, others = "/sys/fs/cgroup/freezer/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope/freezer.state", "/sys/fs/cgroup/freezer/machine.slice/freezer.state"
	if err := m.thaw(); err != nil {
		t.Errorf("without cgroup v1: %v", err)
	}
	for _, file := range []string{pods, others} {
		f.Put(t, file, "FROZEN\n")
	}
	if err := m.thaw(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{pods: "THAWED", others: "FROZEN"} {
		text, err := os.ReadFile(m.Path(file))
		if err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
}
