package settings

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

var tunnels = map[string]string{"vxlan": "VXLAN"}

func TestModules(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "proc/sys/kernel/osrelease", "5.14.0-570.el9\n")
	f.Put(t, "lib/modules/5.14.0-570.el9/modules.builtin", "kernel/fs/overlayfs/overlay.ko\n")
	f.Put(t, "boot/config-5.14.0-570.el9", "CONFIG_VXLAN=m\nCONFIG_NF_CONNTRACK=y\n")
	f.Answers["modprobe"] = func(c host.Cmd) ([]byte, error) {
		f.Put(t, "sys/module/"+c.Args[0]+"/refcnt", "0")
		return nil, nil
	}
	s := Modules(m, tunnels)
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if f.Ran("modprobe overlay")+f.Ran("modprobe nf_conntrack") != 0 || f.Ran("modprobe vxlan") != 1 || f.Ran("modprobe br_netfilter") != 1 {
		t.Errorf("built-in modules were loaded, or others not: %v", f.Calls)
	}
	if got := f.Get(modulesFile); got != "overlay\nbr_netfilter\nnf_conntrack\nvxlan\n" {
		t.Errorf("%s holds %q", modulesFile, got)
	}
	if err := s.Undo(t.Context()); err != nil || f.Has(modulesFile) {
		t.Errorf("undo: %v", err)
	}
}

// A pod network without VXLAN works on a kernel that has none.
func TestModulesWithoutVXLAN(t *testing.T) {
	f, m := hosttest.New(t)
	f.Answers["modprobe"] = func(host.Cmd) ([]byte, error) { return nil, nil }
	f.Fails("modprobe vxlan", 1, "modprobe: FATAL: Module vxlan not found")
	if err := Modules(m, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.Get(modulesFile); got != "overlay\nbr_netfilter\nnf_conntrack\n" {
		t.Errorf("%s holds %q", modulesFile, got)
	}
}

// A kernel without any module tree, as in the lab: its own configuration and
// traces are all there is.
func TestModulesAllBuiltIn(t *testing.T) {
	f, m := hosttest.New(t)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	io.WriteString(w, "CONFIG_OVERLAY_FS=y\nCONFIG_VXLAN=y\n")
	w.Close()
	f.Put(t, "proc/config.gz", zipped.String())
	f.Put(t, "proc/sys/kernel/osrelease", "6.18.5\n")
	f.Put(t, "proc/sys/net/bridge/bridge-nf-call-iptables", "1")
	f.Put(t, "proc/sys/net/netfilter/nf_conntrack_max", "65536")
	if err := Modules(m, tunnels).Run(t.Context()); err != nil || len(f.Calls) != 0 {
		t.Fatalf("got %v, ran %v", err, f.Calls)
	}
	hosttest.MustBeDone(t, Modules(m, tunnels).Done, true)
}

func TestModulesMissing(t *testing.T) {
	f, m := hosttest.New(t)
	f.Fails("modprobe br_netfilter", 1, "modprobe: FATAL: Module br_netfilter not found")
	f.Put(t, "sys/module/overlay/refcnt", "1")
	err := Modules(m, tunnels).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "load kernel module br_netfilter") || f.Has(modulesFile) {
		t.Errorf("got %v", err)
	}
}

// values are /proc/sys before a run: bridge-nf off, inotify below and above.
func values(t *testing.T, f *hosttest.Fake) {
	for name, value := range map[string]string{
		"net/ipv4/ip_forward": "0", "net/ipv4/conf/default/forwarding": "0", "net/bridge/bridge-nf-call-iptables": "0", "net/bridge/bridge-nf-call-ip6tables": "1",
		"fs/inotify/max_user_instances": "128", "fs/inotify/max_user_watches": "2000000",
		"vm/overcommit_memory": "0", "vm/panic_on_oom": "0", "kernel/panic": "0", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		f.Put(t, "proc/sys/"+name, value+"\n")
	}
}

func TestSysctls(t *testing.T) {
	f, m := hosttest.New(t)
	values(t, f)
	s := Sysctls(m)
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got := f.Get("proc/sys/net/ipv4/ip_forward"); got != "1" {
		t.Errorf("ip_forward is %q", got)
	}
	if got := f.Get(SysctlFile); !strings.Contains(got, "max_user_watches = 2000000\n") || !strings.Contains(got, "max_user_instances = 8192\n") {
		t.Errorf("a floor lowers a value, or does not raise it:\n%s", got)
	}

	// Interrupted and run again: the values from before are not lost.
	f.Put(t, "proc/sys/net/ipv4/ip_forward", "0\n")
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ipForward, instances := f.Get("proc/sys/net/ipv4/ip_forward"), f.Get("proc/sys/fs/inotify/max_user_instances"); ipForward != "0" || instances != "128" {
		t.Errorf("after the undo: ip_forward %q, inotify instances %q", ipForward, instances)
	}
	if overcommit, panics := f.Get("proc/sys/vm/overcommit_memory"), f.Get("proc/sys/kernel/panic"); overcommit != "0" || panics != "0" {
		t.Errorf("after the undo: overcommit_memory %q, panic %q", overcommit, panics)
	}
	if f.Has(SysctlFile) || f.Has(sysctlUndo) {
		t.Error("undo left a file")
	}
}

func TestDriftedSysctls(t *testing.T) {
	f, m := hosttest.New(t)
	values(t, f)
	if err := Sysctls(m).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := DriftedSysctls(m); err != nil || len(got) > 0 {
		t.Errorf("as they were set: %v, %v", got, err)
	}
	f.Put(t, "proc/sys/net/ipv4/ip_forward", "0\n")
	f.Put(t, "proc/sys/fs/inotify/max_user_instances", "128\n")
	if err := os.RemoveAll(filepath.Join(f.Root, "proc/sys/net/bridge")); err != nil {
		t.Fatal(err)
	}
	want := []SysctlDrift{
		{"net.ipv4.ip_forward", "0", "1"},
		{"net.bridge.bridge-nf-call-iptables", "", "1"}, {"net.bridge.bridge-nf-call-ip6tables", "", "1"},
		{"fs.inotify.max_user_instances", "128", "at least 8192"},
	}
	if got, err := DriftedSysctls(m); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestDriftedByMask: without systemd-sysctl the files set nothing at the next boot. Another unit, and a
// mask that the boot removes, change nothing.
func TestDriftedByMask(t *testing.T) {
	for path, test := range map[string]struct {
		link, text string
		masked     bool
	}{
		"etc/systemd/system/systemd-sysctl.service":           {link: "/dev/null", masked: true},
		"usr/local/lib/systemd/system/systemd-sysctl.service": {masked: true},
		"run/systemd/system/systemd-sysctl.service":           {link: "/dev/null"},
		"etc/systemd/system/systemd-modules-load.service":     {link: "/dev/null"},
	} {
		f, m := hosttest.New(t)
		values(t, f)
		if err := Sysctls(m).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if test.link == "" {
			f.Put(t, path, test.text)
		} else if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(f.Root, path)), 0o755), os.Symlink(test.link, filepath.Join(f.Root, path))); err != nil {
			t.Fatal(err)
		}
		got, err := DriftedSysctls(m)
		if err != nil || (len(got) == 1) != test.masked || test.masked && (got[0].Key != "systemd-sysctl.service" || !strings.Contains(got[0].Saw, "/"+path)) {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	f, m := hosttest.New(t)
	values(t, f)
	f.Put(t, "etc/systemd/system/systemd-sysctl.service", "[Service]\nExecStart=/usr/lib/systemd/systemd-sysctl\n")
	if err := Sysctls(m).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := DriftedSysctls(m); err != nil || len(got) > 0 {
		t.Errorf("a unit of the site: %+v, %v", got, err)
	}
}

func TestSysctlsMissing(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "proc/sys/net/ipv4/conf/default/forwarding", "0\n")
	f.Put(t, "proc/sys/net/ipv4/ip_forward", "0\n")
	hosttest.MustBeDone(t, Sysctls(m).Done, false)
	err := Sysctls(m).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "net.bridge.bridge-nf-call-iptables") || f.Get("proc/sys/net/ipv4/ip_forward") != "0\n" {
		t.Errorf("got %v; nothing may be set before all can be read", err)
	}
}

func TestPlanOfHostSettings(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "sys/module/overlay/refcnt", "1")
	f.Put(t, "sys/module/vxlan/refcnt", "1")
	f.Put(t, "proc/sys/net/netfilter/nf_conntrack_max", "65536")
	f.Put(t, modulesFile, "mine\n")
	hosttest.WantPlan(t, f, Modules(m, tunnels), "load kernel module br_netfilter", "write "+modulesFile+" (changed)")

	values(t, f)
	for _, gone := range []string{"call-iptables", "call-ip6tables"} {
		if err := os.Remove(f.Root + "/proc/sys/net/bridge/bridge-nf-" + gone); err != nil {
			t.Fatal(err)
		}
	}
	hosttest.WantPlan(t, f, Sysctls(m),
		"net.ipv4.ip_forward 0 → 1", "net.ipv4.conf.default.forwarding 0 → 1",
		"net.bridge.bridge-nf-call-iptables → 1", "net.bridge.bridge-nf-call-ip6tables → 1", // br_netfilter is not loaded yet
		"fs.inotify.max_user_instances 128 → 8192", "vm.overcommit_memory 0 → 1", "kernel.panic 0 → 10",
		"write "+SysctlFile+" (new)")
}
