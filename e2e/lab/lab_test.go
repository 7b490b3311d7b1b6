package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airgap.dev/airgap/e2e/lab/root"
)

// boot gives a test servers of its own. It needs root, a Debian mirror the
// first time, and the lab's upstream in the cache.
func boot(t *testing.T, run string, nodes int) *Lab {
	t.Helper()
	if os.Getenv("AIRGAP_LAB") != "1" {
		t.Skip("boots servers: set AIRGAP_LAB=1, as root")
	}
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := root.ForUpstream(cache)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := root.Build(t.Context(), cfg, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	l, err := Up(t.Context(), Config{Cache: cache, Run: run, Nodes: nodes, Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d servers up in %.1f s", nodes, time.Since(start).Seconds())
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestServersLookLikeABanks(t *testing.T) {
	l := boot(t, "t-looks", 2)
	for _, tc := range []struct{ name, script, want string }{
		{"init", "cat /proc/1/comm", "systemd"},
		{"units", "systemctl is-system-running", "running"},
		{"os", ". /etc/os-release; echo $ID $VERSION_ID $PLATFORM_ID", "rocky 9.6 platform:el9"},
		{"base package", "rpm -q --qf '%{NAME}' lab-minimal-base", "lab-minimal-base"},
		{"vendor key", "rpm -q gpg-pubkey >/dev/null || ls /etc/pki/rpm-gpg", "RPM-GPG-KEY-Rocky-9"},
		{"release of dnf, and a vendor out of reach", "dnf makecache 2>&1 | grep -o mirror.bank.example/rocky/9/BaseOS/x86_64/os/ | sort -u", "mirror.bank.example/rocky/9/BaseOS/x86_64/os/"},
		{"nothing of ours", "for p in containerd runc conntrack socat ethtool iptables kubelet; do command -v $p; done; true", ""},
		{"built-in module", "modprobe br_netfilter && modprobe overlay && echo fine", "fine"},
		{"a module that is not", "modprobe ipip 2>/dev/null || echo none", "none"},
		{"name", "hostname", "node1"},
		{"peer", "ping -q -c1 -W2 node2 >/dev/null && echo reached", "reached"},
		{"machine id", "grep -cE '^[0-9a-f]{32}$' /etc/machine-id", "1"},
		{"cgroups", "mkdir /sys/fs/cgroup/pids/try && rmdir /sys/fs/cgroup/pids/try && echo writable", "writable"},
		{"own cgroup", "grep -v ':/$' /proc/self/cgroup; true", ""},
		{"container disks", "stat -f -c %T /var/lib/containerd /var/lib/kubelet /var/lib/etcd | sort -u", "ext2/ext3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Output(t.Context(), l.Machines[0], "bash", "-c", tc.script)
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestNoWayOut(t *testing.T) {
	l := boot(t, "t-gap", 1)
	// Straight from the kernel, so that it is the network's answer and not a
	// program's.
	const connect = `
import errno, socket, sys
s = socket.socket(); s.settimeout(5)
try: s.connect((sys.argv[1], 443)); print("connected")
except OSError as e: print(errno.errorcode.get(e.errno, e))`
	for _, addr := range []string{"192.0.2.1", "1.1.1.1", "10.0.2.2", "169.254.169.254"} {
		got, err := Output(t.Context(), l.Machines[0], "python3", "-c", connect, addr)
		if err != nil || got != "ENETUNREACH" {
			t.Errorf("connect to %s: got %q, %v; want ENETUNREACH", addr, got, err)
		}
	}
}

func TestDrops(t *testing.T) {
	l := boot(t, "t-drops", 2)
	ctx := t.Context()
	a, b := l.Machines[0], l.Machines[1]
	heard := func() bool {
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
			if !heard() {
				t.Fatal("node2 is not heard before the drop")
			}
			if err := l.Network.Drop(ctx, d); err != nil {
				t.Fatal(err)
			}
			if heard() {
				t.Error("node2 is heard in spite of the drop")
			}
			if err := l.Network.Carry(ctx, d); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := l.Network.Carry(ctx, Drop{Proto: "udp", Port: 1}); err == nil {
		t.Error("carried what was never dropped")
	}
}

func TestIPInIPIsLost(t *testing.T) {
	l := boot(t, "t-ipip", 2)
	ctx := t.Context()
	const receive = `
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, int(sys.argv[1])); s.settimeout(2)
print("ready", flush=True)
try: s.recv(100); print("heard")
except TimeoutError: print("lost")`
	const send = `
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_RAW, int(sys.argv[1])).sendto(b"x" * 40, ("node2", 0))`
	// 253 is for experiments: it shows that the probe works at all.
	for proto, want := range map[string]string{"4": "lost", "253": "heard"} {
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
			t.Errorf("protocol %s: %q, %v; want %s", proto, got, err, want)
		}
	}
}

func TestExec(t *testing.T) {
	l := boot(t, "t-exec", 1)
	ctx, m := t.Context(), l.Machines[0]

	var out, stderr bytes.Buffer
	err := m.Exec(ctx, Cmd{
		Args: []string{"sh", "-c", "cat; echo $WORD $PWD; echo oops >&2; exit 3"}, Env: []string{"WORD=hi"}, Dir: "/etc",
		Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &stderr,
	})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || exit.Stderr != "oops" || exit.Machine != "node1" {
		t.Errorf("got %#v; want exit status 3 and oops", err)
	}
	if out.String() != "in\nhi /etc\n" || stderr.String() != "oops\n" {
		t.Errorf("got stdout %q, stderr %q", out.String(), stderr.String())
	}
	if err := m.Exec(ctx, Cmd{Args: []string{"sh", "-c", "kill -9 $$"}}); !errors.As(err, &exit) || exit.Code != 128+9 {
		t.Errorf("got %v; want 137", err)
	}
}

func TestCancelReachesTheCommand(t *testing.T) {
	l := boot(t, "t-cancel", 1)
	m := l.Machines[0]
	for _, tc := range []struct {
		signal syscall.Signal
		want   string // what the command leaves behind
	}{{syscall.SIGINT, "interrupted"}, {0, ""}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() {
			_, _ = r.Read(make([]byte, 16))
			cancel()
			_, _ = io.Copy(io.Discard, r)
		}()
		const script = `trap 'echo -n interrupted >/root/note; exit' INT; : >/root/note; echo ready; while :; do sleep 0.1; done`
		err := m.Exec(ctx, Cmd{Args: []string{"sh", "-c", script, "marker"}, Stdout: w, Cancel: tc.signal})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: got %v; want context canceled", tc.signal, err)
		}
		if note, err := Output(t.Context(), m, "cat", "/root/note"); err != nil || note != tc.want {
			t.Errorf("%v: got note %q, %v; want %q", tc.signal, note, err, tc.want)
		}
		if left, _ := Output(t.Context(), m, "pgrep", "-f", "marker"); left != "" {
			t.Errorf("%v: process %s still runs", tc.signal, left)
		}
	}
}

func TestStick(t *testing.T) {
	l := boot(t, "t-stick", 1)
	ctx, m := t.Context(), l.Machines[0]
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bundle.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.AttachStick(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Output(ctx, m, "cat", StickPath+"/bundle.json"); err != nil || got != "{}" {
		t.Errorf("read the stick: %q, %v", got, err)
	}
	if _, err := Output(ctx, m, "touch", StickPath+"/x"); err == nil {
		t.Error("wrote to the stick")
	}
	if err := m.PullStick(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := Output(ctx, m, "ls", StickPath); err != nil || got != "" {
		t.Errorf("after pulling the stick: %q, %v", got, err)
	}
}

func TestPowerCut(t *testing.T) {
	l := boot(t, "t-power", 1)
	ctx, m := t.Context(), l.Machines[0]
	if err := PutFile(ctx, m, "/opt/some/where/file", 0o600, strings.NewReader("kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := Output(ctx, m, "sh", "-c", "ip link add flannel.1 type dummy; sleep 1000 >/dev/null 2>&1 & : >/run/volatile"); err != nil {
		t.Fatal(err)
	}
	if err := m.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.Exec(ctx, Cmd{Args: []string{"true"}}); err == nil {
		t.Error("ran a command without power")
	}
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := GetFile(ctx, m, "/opt/some/where/file", &got); err != nil || got.String() != "kept" {
		t.Errorf("the disk after a power cut: %q, %v", got.String(), err)
	}
	out, err := Output(ctx, m, "sh", "-c", "ip -o link | grep -c flannel; ls /run/volatile 2>&1 | grep -c 'No such'; pgrep -c sleep")
	if got := strings.Fields(out); strings.Join(got, " ") != "0 1 0" {
		t.Errorf("left over from before the power cut: %q, %v", out, err)
	}
}

func TestDownLeavesNothing(t *testing.T) {
	l := boot(t, "t-down", 2)
	ctx := t.Context()
	before, err := os.ReadFile(sysctlPath("kernel/panic"))
	if err != nil || strings.TrimSpace(string(before)) != "10" {
		t.Errorf("kernel.panic while up: %q, %v", before, err)
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
	if _, err := Up(ctx, Config{Cache: l.cache, Run: l.run, Nodes: 1}); err == nil {
		t.Error("booted a second lab of the same name")
	}
	other, err := Open(l.cache, l.run)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Down(ctx); err != nil {
		t.Fatal(err)
	}
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
