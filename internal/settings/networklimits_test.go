package settings

import (
	"os"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/sysctld"
)

// TestNeighbours: a small cluster needs no more than the kernel has by default for few pods, and a
// large one needs more.
func TestNeighbours(t *testing.T) {
	for _, test := range []struct{ nodes, pods, most int }{{1, 10, 1024}, {3, 110, 2048}, {1000, 110, 8192}, {5000, 110, 32768}, {3, 500, 8192}, {1 << 30, 1, 1 << 20}} {
		got := NetworkLimits{Nodes: test.nodes, PodsPerNode: test.pods}.Neighbours()
		if got[0].Value != test.most/8 || got[1].Value != test.most/2 || got[2].Value != test.most {
			t.Errorf("%d nodes with %d pods: %+v, want %d", test.nodes, test.pods, got, test.most)
		}
	}
}

func TestNetworkLimits(t *testing.T) {
	const reserved, third = "proc/sys/net/ipv4/ip_local_reserved_ports", "proc/sys/net/ipv4/neigh/default/gc_thresh3"
	f, m := hosttest.New(t)
	f.Put(t, reserved, "8080-8081\n")
	f.Put(t, "etc/sysctl.d/50-site.conf", "# net.ipv4.ip_local_reserved_ports = 1\n-net/ipv4/ip_local_reserved_ports = 9000, 9002\n")
	f.Put(t, "proc/sys/net/ipv4/neigh/default/gc_thresh1", "80000\n")
	f.Put(t, "proc/sys/net/ipv4/neigh/default/gc_thresh2", "512\n")
	f.Put(t, third, "1024\n")
	limits := NetworkLimits{Nodes: 3, PodsPerNode: 110, Ports: Listens{ControlPlane: true, Registry: 5000}.Ports()}
	s := NetworkLimitsStep(m, limits)
	const want = "2379-2381,5000,6443,8080-8081,9000,9002,10248-10250,10256-10257,10259,30000-32767"
	hosttest.WantPlan(t, f, s, "net.ipv4.neigh.default.gc_thresh2 512 → 1024", "net.ipv4.neigh.default.gc_thresh3 1024 → 2048",
		"net.ipv4.ip_local_reserved_ports 8080-8081 → "+want, "write "+NetworkLimitsFile+" (new)")
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got := f.Get(NetworkLimitsFile); !strings.Contains(got, "gc_thresh1 = 80000\n") || !strings.Contains(got, "ip_local_reserved_ports = "+want+"\n") {
		t.Errorf("%s", got)
	}

	f.Put(t, reserved, "2379-2381\n")
	f.Put(t, third, "1024\n")
	drifted, err := drift(m)
	wantDrift := []SysctlDrift{{"net.ipv4.neigh.default.gc_thresh3", "1024", "at least 2048"}, {"net.ipv4.ip_local_reserved_ports", "2379-2381", "also " + strings.TrimPrefix(want, "2379-2381,")}}
	if err != nil || !slices.Equal(drifted, wantDrift) {
		t.Errorf("drift: %+v, %v", drifted, err)
	}
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil { // a second run keeps the values from before the first one
		t.Fatal(err)
	}
	if err := NetworkLimitsStep(m, NetworkLimits{}).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ports, most := f.Get(reserved), f.Get(third); ports != "8080-8081\n" || most != "1024\n" || f.Has(NetworkLimitsFile) || f.Has(networkLimitsUndo) {
		t.Errorf("after the undo: %q, %q", ports, most)
	}
}

// drift is the drift of the limits now and at the next boot.
func drift(m host.Machine) ([]SysctlDrift, error) {
	boot, err := sysctld.Read(os.DirFS(m.Path("/")))
	if err != nil {
		return nil, err
	}
	return driftedLimits(m, boot)
}

// TestNetworkLimitsAtNextBoot: a file that sorts after airgap's lowers a limit and releases ports at the
// next boot. Values that are enough are no drift.
func TestNetworkLimitsAtNextBoot(t *testing.T) {
	const third, reserved = "net.ipv4.neigh.default.gc_thresh3", "net.ipv4.ip_local_reserved_ports"
	f, m := hosttest.New(t)
	f.Put(t, "proc/sys/net/ipv4/ip_local_reserved_ports", "\n")
	f.Put(t, "proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024\n")
	limits := NetworkLimits{Nodes: 3, PodsPerNode: 110, Ports: []Port{{First: 6443, Last: 6443}, {First: 10250, Last: 10250}}}
	if err := NetworkLimitsStep(m, limits).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]SysctlDrift{
		"": nil,
		third + " = 4096\n" + reserved + " = 6000-11000\n": nil,
		third + " = 1024\n":              {{third, "1024 from the next boot on (/etc/sysctl.d/99-x.conf:1)", "at least 2048"}},
		"# x\n" + reserved + " = 6443\n": {{reserved, "6443 from the next boot on (/etc/sysctl.d/99-x.conf:2)", "also 10250"}},
		reserved + " =\n":                {{reserved, " from the next boot on (/etc/sysctl.d/99-x.conf:1)", "also 6443,10250"}},
	} {
		f.Put(t, "etc/sysctl.d/99-x.conf", text)
		got, err := drift(m)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestNetworkLimitsOfContainer: a container has no neighbour table of its own; no list of ports is
// an empty line; a list that nobody can read is an error, and nothing changes.
func TestNetworkLimitsOfContainer(t *testing.T) {
	const reserved = "proc/sys/net/ipv4/ip_local_reserved_ports"
	f, m := hosttest.New(t)
	f.Put(t, reserved, "\n")
	s := NetworkLimitsStep(m, NetworkLimits{Ports: []Port{{First: 6443, Last: 6443}}})
	hosttest.WantPlan(t, f, s, "net.ipv4.ip_local_reserved_ports → 6443", "write "+NetworkLimitsFile+" (new)")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Undo(t.Context()); err != nil || f.Get(reserved) != "\n" {
		t.Errorf("after the undo: %q, %v", f.Get(reserved), err)
	}
	for _, odd := range []string{"70000", "9-1", "a", "-5"} {
		f.Put(t, "etc/sysctl.conf", "net.ipv4.ip_local_reserved_ports = "+odd+"\n")
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), odd) || f.Has(NetworkLimitsFile) {
			t.Errorf("%s: %v", odd, err)
		}
	}
}
