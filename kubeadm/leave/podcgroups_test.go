package leave

import (
	"os"
	"strings"
	"testing"
)

// TestThaw: thaw resumes only the cgroups of pods.
func TestThaw(t *testing.T) {
	f, m := newMember(t)
	const pods, others = "/sys/fs/cgroup/freezer/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope/freezer.state", "/sys/fs/cgroup/freezer/machine.slice/freezer.state"
	if err := m.thaw(); err != nil {
		t.Errorf("without cgroup v1: got %v, want no error", err)
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
			t.Errorf("got %q, %v in %s, want %s", text, err, file, want)
		}
	}
}
