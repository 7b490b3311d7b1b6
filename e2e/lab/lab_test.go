package lab

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// boot boots servers for one test. It needs root, a Debian mirror at the first call, and
// the lab's upstream in the cache.
func boot(t *testing.T, run string, nodes ...Kind) *Lab {
	t.Helper()
	if os.Getenv("AIRGAP_LAB") != "1" {
		t.Skip("boots servers: set AIRGAP_LAB=1, as root")
	}
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Cache: cache, Run: run, Nodes: nodes}
	if err := cfg.Build(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	l, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d servers up in %.1f s", len(nodes), time.Since(start).Seconds())
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		nothingLeft(t, l)
	})
	return l
}

// nothingLeft checks that nothing of a removed lab is left.
func nothingLeft(t *testing.T, l *Lab) {
	t.Helper()
	for _, pattern := range []string{
		cgroupRoot + "/*/airgap-lab/" + l.run,
		"/run/netns/airgap-" + l.run + "*",
		runDir(l.cache, l.run),
	} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), runDir(l.cache, l.run)) {
		t.Errorf("mounts left behind, %v", err)
	}
}

func TestServersLookLikeASitesServers(t *testing.T) {
	l := boot(t, "t-looks", KindContainer, KindContainer)
	for _, tc := range []struct{ name, script, want string }{
		{"init", "cat /proc/1/comm", "systemd"},
		{"units", "systemctl is-system-running", "running"},
		{"os", ". /etc/os-release; echo $ID $VERSION_ID $PLATFORM_ID", "rocky 9.6 platform:el9"},
		{"base package", "rpm -q --qf '%{NAME}' lab-minimal-base", "lab-minimal-base"},
		{"vendor key", "rpm -q gpg-pubkey >/dev/null || ls /etc/pki/rpm-gpg", "RPM-GPG-KEY-Rocky-9"},
		{"release of dnf, and an unreachable vendor", "dnf makecache 2>&1 | grep -o mirror.bank.example/rocky/9/BaseOS/x86_64/os/ | sort -u", "mirror.bank.example/rocky/9/BaseOS/x86_64/os/"},
		{"no programs that airgap installs", "for p in containerd runc conntrack socat ethtool iptables kubelet; do command -v $p; done; true", ""},
		{"built-in module", "modprobe br_netfilter && modprobe overlay && echo fine", "fine"},
		{"missing module", "modprobe ipip 2>/dev/null || echo none", "none"},
		{"name", "hostname", "node1"},
		{"peer", "ping -q -c1 -W2 node2 >/dev/null && echo reached", "reached"},
		{"machine id", "grep -cE '^[0-9a-f]{32}$' /etc/machine-id", "1"},
		{"cgroups", "mkdir /sys/fs/cgroup/pids/try && rmdir /sys/fs/cgroup/pids/try && echo writable", "writable"},
		{"separate cgroup", "grep -v ':/$' /proc/1/cgroup | grep -v ':/init.scope$'; true", ""},
		{"separate cgroup for commands from outside", "grep -v ':/visitors$' /proc/self/cgroup; true", ""},
		{"container disks", "stat -f -c %T /var/lib/containerd /var/lib/crio /var/lib/kubelet /var/lib/etcd | sort -u", "ext2/ext3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Output(t.Context(), l.Machines[0], "bash", "-c", tc.script)
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestDrops(t *testing.T) {
	l := boot(t, "t-drops", KindContainer, KindContainer)
	ctx := t.Context()
	a, b := l.Machines[0], l.Machines[1]
	reachable := func() bool {
		// sshd listens on every server.
		_, err := Output(ctx, a, "timeout", "1", "bash", "-c", "exec 3<>/dev/tcp/node2/22")
		return err == nil
	}
	for _, d := range []Drop{
		{Proto: "tcp", Port: 22},
		{Proto: "tcp", Port: 22, From: a.Addr(), To: b.Addr()},
		{From: a.Addr(), To: b.Addr()},
		{Proto: "6"},
	} {
		t.Run(d.String(), func(t *testing.T) {
			if !reachable() {
				t.Fatal("node2 is not reachable before the drop")
			}
			if err := l.Network.Drop(ctx, d); err != nil {
				t.Fatal(err)
			}
			if reachable() {
				t.Error("node2 is reachable despite the drop")
			}
			if err := l.Network.Carry(ctx, d); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := l.Network.Carry(ctx, Drop{Proto: "udp", Port: 1}); err == nil {
		t.Error("Carry of packets that were never dropped succeeded")
	}
}

// TestMACAddressesStay checks hardware addresses after a power cut: the router keeps its own,
// by which the servers reach it and the load balancer, and a restarted server has the same as before.
func TestMACAddressesStay(t *testing.T) {
	l := boot(t, "t-macs", KindContainer, KindContainer)
	ctx := t.Context()
	addresses := func(m Machine) string {
		t.Helper()
		got, err := Output(ctx, m, "sh", "-c", "cat /sys/class/net/eth0/address; ping -q -c1 -W2 "+router.String()+" >/dev/null; ip neigh show "+router.String()+" | grep -o 'lladdr [^ ]*'")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for i, dead := range l.Machines {
		other := l.Machines[1-i]
		own, others := addresses(dead), addresses(other)
		if err := dead.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := Output(ctx, other, "ip", "neigh", "flush", "all"); err != nil {
			t.Fatal(err)
		}
		if now := addresses(other); now != others {
			t.Errorf("addresses without %s: got %q, want %q", dead.Name(), now, others)
		}
		if err := dead.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if now := addresses(dead); now != own {
			t.Errorf("addresses of %s after its restart: got %q, want %q", dead.Name(), now, own)
		}
	}
}

func TestIPInIPIsDropped(t *testing.T) {
	l := boot(t, "t-ipip", KindContainer, KindContainer)
	ctx := t.Context()
	const receive = `
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, int(sys.argv[1])); s.settimeout(2)
print("ready", flush=True)
try: s.recv(100); print("received")
except TimeoutError: print("lost")`
	const send = `
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_RAW, int(sys.argv[1])).sendto(b"x" * 40, ("node2", 0))`
	// Protocol 253 is reserved for experiments: it shows that the probe works.
	for proto, want := range map[string]string{"4": "lost", "253": "received"} {
		out, w := io.Pipe()
		go func() {
			w.CloseWithError(l.Machines[1].Exec(ctx, Cmd{Args: []string{"python3", "-c", receive, proto}, Stdout: w}))
		}()
		buf := make([]byte, 64)
		if _, err := out.Read(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := Output(ctx, l.Machines[0], "python3", "-c", send, proto); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(out)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("protocol %s: got %q, %v; want %s", proto, got, err, want)
		}
	}
}

func TestDownLeavesNothing(t *testing.T) {
	l := boot(t, "t-down", KindContainer, KindContainer)
	ctx := t.Context()
	before, err := os.ReadFile(sysctlPath("kernel/panic"))
	if err != nil || strings.TrimSpace(string(before)) != "10" {
		t.Errorf("kernel.panic of a running lab: got %q, %v; want 10", before, err)
	}
	dir, err := l.SaveLogs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, file := range []string{"node1/journal.log", "node2/network.txt", "node1/console.log"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := Up(ctx, Config{Cache: l.cache, Run: l.run, Nodes: KindContainer.Times(1), Layers: []string{"/"}}); err == nil {
		t.Error("booted a second lab with the same name")
	}
	other, err := Open(l.cache, l.run)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Down(ctx); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, l)
}
