package kubeadm

import (
	"reflect"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestReserved: a small host keeps most of its memory for pods, and a large one reserves gigabytes.
func TestReserved(t *testing.T) {
	for _, test := range []struct {
		gib, cpus   int64
		memory, cpu string
	}{{2, 2, "382Mi", "100m"}, {8, 4, "689Mi", "120m"}, {64, 16, "3556Mi", "240m"}, {512, 128, "26494Mi", "1360m"}} {
		got := reserved(test.gib<<30, int(test.cpus))
		if want := map[string]string{"memory": test.memory, "cpu": test.cpu}; !reflect.DeepEqual(got, want) {
			t.Errorf("%d GiB, %d CPUs: %v, want %v", test.gib, test.cpus, got, want)
		}
	}
}

func sized(t *testing.T) (*hosttest.Fake, Machine) {
	f, m := hosttest.New(t)
	f.Put(t, "proc/meminfo", "MemTotal:        2097152 kB\nMemFree: 1 kB\n")
	f.Put(t, "proc/cpuinfo", "processor\t: 0\nflags : fpu\n\nprocessor\t: 1\n")
	return f, Machine{Member: leave.Member{Machine: m}}
}

// TestReservedPatch: the patch is there for kubeadm, in the dry run as well. The site's own value, a
// host from before, and an upgrade without the default have none.
func TestReservedPatch(t *testing.T) {
	f, m := sized(t)
	plain := section(t, "{version: 1.36.3}")
	plan, err := m.planPatches(plain, Node{})
	if err != nil || len(plan) != 1 || !strings.HasSuffix(plan[0], reservedPatch+" (new)") {
		t.Errorf("plan: %q, %v", plan, err)
	}
	if err := m.updatePatches(plain, Node{}); err != nil || f.Has(reservedPatch) {
		t.Errorf("an upgrade of a node without the patch: %v", err)
	}
	if err := m.writePatches(plain, Node{}); err != nil || f.Get(reservedPatch) != "kubeReserved:\n  cpu: 100m\n  memory: 382Mi\n" {
		t.Errorf("%v\n%s", err, f.Get(reservedPatch))
	}
	dir, err := m.patchesFor(plain, Node{})
	if err != nil || !strings.HasSuffix(dir, "/etc/airgap/kubeadm-patches") {
		t.Errorf("%q, %v", dir, err)
	}
	for name, o := range map[string]object{
		"init": initConfiguration(plain, Node{Patches: dir}), "join": joinConfiguration(plain, Node{Patches: dir}, "/x"),
		"upgrade": Upgrade{Machine: m, Config: plain}.configuration()["node"].(object),
	} {
		if !reflect.DeepEqual(o["patches"], object{"directory": dir}) {
			t.Errorf("%s: %v", name, o["patches"])
		}
	}
	f.Put(t, "proc/meminfo", "MemTotal:        4194304 kB\n")
	if err := m.updatePatches(plain, Node{}); err != nil || !strings.Contains(f.Get(reservedPatch), "484Mi") {
		t.Errorf("an upgrade after the host got more memory: %v\n%s", err, f.Get(reservedPatch))
	}
	for _, own := range []string{"kubeReserved: {memory: 1Gi}", "systemReserved: {cpu: 1}", "kubeReserved: {}", "memoryManagerPolicy: Static"} {
		c := section(t, "{version: 1.36.3, overrides: {kubelet: {"+own+"}}}")
		if dir, err := m.patchesFor(c, Node{}); err != nil || dir != "" {
			t.Errorf("%s: %q, %v", own, dir, err)
		}
		if err := m.updatePatches(c, Node{}); err != nil || f.Has(reservedPatch) || f.Has("/etc/airgap/kubeadm-patches") {
			t.Errorf("%s: the patch stays: %v", own, err)
		}
	}
	f.Put(t, "proc/meminfo", "nothing\n")
	if err := m.writePatches(plain, Node{}); err == nil || !strings.Contains(err.Error(), "read the size of this host") {
		t.Errorf("an unknown format: %v", err)
	}
}
