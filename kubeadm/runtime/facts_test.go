package runtime

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/internal/host"
)

type recorded struct{ fstest.MapFS }

func (r recorded) FS() fs.FS                                   { return r.MapFS }
func (recorded) Run(context.Context, host.Cmd) ([]byte, error) { return nil, nil }

func files(pairs ...string) recorded {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return recorded{m}
}

const (
	unified = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
	legacy  = "tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
	hybrid  = legacy + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
)

func TestObserve(t *testing.T) {
	for name, tc := range map[string]struct {
		host  recorded
		want  Facts
		proxy string
	}{
		"rocky 9": {files("etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.6\"\n", "proc/sys/kernel/osrelease", "5.14.0-570.el9.x86_64\n",
			"proc/1/comm", "systemd\n", "proc/self/mounts", unified, "sys/fs/selinux/enforce", "1"),
			Facts{"el9", "5.14.0-570.el9.x86_64", Systemd, 2, true}, "iptables"},
		"navix 9, by ID_LIKE": {files("etc/os-release", "ID=\"navix\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.6\"\n", "proc/sys/kernel/osrelease", "5.14.0-570.el9.x86_64\n",
			"proc/1/comm", "systemd\n", "proc/self/mounts", unified),
			Facts{"el9", "5.14.0-570.el9.x86_64", Systemd, 2, false}, "iptables"},
		"rhel 8, hybrid": {files("etc/os-release", "ID=\"rhel\"\nVERSION_ID=\"8.10\"\n", "proc/sys/kernel/osrelease", "4.18.0-553.el8_10.x86_64\n",
			"proc/1/comm", "systemd\n", "proc/self/mounts", hybrid),
			Facts{"el8", "4.18.0-553.el8_10.x86_64", Systemd, 1, false}, "iptables"},
		"rhel 10": {files("etc/os-release", "ID=rhel\nVERSION_ID=10.1\n", "proc/sys/kernel/osrelease", "6.12.0-55.el10.x86_64\n",
			"proc/1/comm", "systemd\n", "proc/self/mounts", unified),
			Facts{"el10", "6.12.0-55.el10.x86_64", Systemd, 2, false}, "nftables"},
		"another init on another OS": {files("etc/os-release", "ID=alpine\nVERSION_ID=3.20\n", "proc/sys/kernel/osrelease", "6.6.1\n",
			"proc/1/comm", "init\n", "proc/self/mounts", legacy),
			Facts{"", "6.6.1", Cgroupfs, 1, false}, "iptables"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Observe(tc.host)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if mode := got.ProxyMode(); mode != tc.proxy {
				t.Errorf("kube-proxy in mode %s, want %s", mode, tc.proxy)
			}
		})
	}
}

func TestObserveGuessesNothing(t *testing.T) {
	whole := files("etc/os-release", "ID=rhel\n", "proc/sys/kernel/osrelease", "5.14.0", "proc/1/comm", "systemd", "proc/self/mounts", unified)
	for missing := range whole.MapFS {
		part := fstest.MapFS{}
		for name, file := range whole.MapFS {
			if name != missing {
				part[name] = file
			}
		}
		if got, err := Observe(recorded{part}); err == nil {
			t.Errorf("without %s: got %+v, want an error", missing, got)
		}
	}
}
