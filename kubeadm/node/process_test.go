package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/process"
)

// An impostor runs in the host's network under the name of the API server, with a
// lower process ID than the real one.
const impostor = "/proc/10/"

// TestImpostors: a process with the name kube-apiserver has no influence on the report of
// airgap compliance, or on the etcd in which the keys of Secrets are rotated.
func TestImpostors(t *testing.T) {
	const theirs = "--etcd-cafile=/theirs"
	ids := func(ids string) string { return "Uid:\t" + strings.Join(strings.Fields(ids), "\t") + "\n" }
	for name, files := range map[string]map[string]string{
		"a user of the host":                      {"status": ids("1000 1000 1000 1000"), "cgroup": "0::/user.slice/user-1000.slice/session-1.scope\n"},
		"a user who makes a cgroup of that name":  {"status": ids("1000 1000 1000 1000")},
		"a setuid program, called by a user":      {"status": ids("1000 0 0 0")},
		"a program that became root by itself":    {"exe": "/usr/bin/sudo"},
		"a pod in the host's network, as root":    {"cgroup": "0::" + kubetest.APIGroup + "\n"},
		"the same with the driver cgroupfs":       {"cgroup": "0::/kubepods/besteffort/pod6f0c2d9e-3a41-4c55-9a0b-7d1f2e3c4b5a/b\n"},
		"the same with version 1":                 {"cgroup": "12:memory:" + kubetest.APIGroup + "\n1:name=systemd:" + kubetest.APIGroup + "\n0::/\n"},
		"a pod with a cgroup below its own":       {"cgroup": "0::" + kubetest.APIGroup + kubetest.StaticGroup + "\n"},
		"a pod that left one hierarchy":           {"cgroup": "2:cpu:" + kubetest.StaticGroup + "\n1:name=systemd:" + kubetest.APIGroup + "\n"},
		"a service of the host":                   {"cgroup": "0::/system.slice/other.service\n"},
		"one whose cgroup cannot be read":         {"cgroup": ""},
		"one that has ended":                      {"status": ""},
		"the user of another manifest":            {"status": ids("2001 2001 2001 2001")},
		"root where the manifest names another":   {"manifest": "spec: {securityContext: {runAsUser: 2000}, containers: [{name: a}]}"},
		"the pod's user where the container says": {"status": ids("2000 2000 2000 2000"), "manifest": "spec: {securityContext: {runAsUser: 2000}, containers: [{name: a, securityContext: {runAsUser: 0}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Joins(t, "/proc/self", kubetest.HostNetwork)
			f.Put(t, ManifestOf(APIServer), "x")
			kubetest.Starts(t, f, 10, kubetest.HostNetwork, "kube-apiserver", theirs)
			for file, text := range files {
				switch file {
				case "manifest":
					f.Put(t, ManifestOf(APIServer), text)
				case "exe":
					link := filepath.Join(f.Root, impostor, file)
					if err := errors.Join(os.Remove(link), os.Symlink(text, link)); err != nil {
						t.Fatal(err)
					}
				default:
					f.Put(t, impostor+file, text)
				}
			}
			if flags, err := Flags(m, APIServer); !errors.Is(err, process.ErrNone) {
				t.Errorf("taken for the API server: %v, %v", flags, err)
			}
		})
	}
}

// TestOurProcesses: the real ones are found, whichever way Kubernetes runs them.
func TestOurProcesses(t *testing.T) {
	rootless := "spec: {securityContext: {runAsUser: 2000}, containers: [{name: a}]}"
	for name, tc := range map[string]struct{ manifest, status, cgroup, exe string }{
		"systemd's cgroups":           {"x", "", kubetest.StaticGroup, ""},
		"cgroupfs":                    {"x", "", "/kubepods/burstable/pod0f1e2d3c4b5a69788796a5b4c3d2e1f0/a", ""},
		"a cgroup root of the site's": {"x", "", "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod0f1e2d3c4b5a69788796a5b4c3d2e1f0.slice/a", ""},
		"RootlessControlPlane":        {rootless, "Uid:\t2000\t2000\t2000\t2000\n", kubetest.StaticGroup, ""},
		"a program that was replaced": {"x", "", kubetest.StaticGroup, "/usr/local/bin/kube-apiserver (deleted)"},
	} {
		f, m := hosttest.New(t)
		f.Joins(t, "/proc/self", kubetest.HostNetwork)
		f.Put(t, ManifestOf(APIServer), tc.manifest)
		kubetest.Starts(t, f, 10, kubetest.HostNetwork, "kube-apiserver", "--etcd-prefix=/ours")
		f.Put(t, impostor+"cgroup", "0::"+tc.cgroup+"\n")
		if tc.status != "" {
			f.Put(t, impostor+"status", tc.status)
		}
		if tc.exe != "" {
			link := filepath.Join(f.Root, impostor, "exe")
			if err := errors.Join(os.Remove(link), os.Symlink(tc.exe, link)); err != nil {
				t.Fatal(err)
			}
		}
		if flags, err := Flags(m, APIServer); err != nil || flags["etcd-prefix"] != "/ours" {
			t.Errorf("%s: %v, %v", name, flags, err)
		}
	}
}

// TestNamedFiles: a file that an argument names is read inside the container, and
// only where reading it has no effects.
func TestNamedFiles(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "/etc/secret", "the host's")
	f.Put(t, "/proc/10/root/etc/policy.yaml", "theirs")
	root := filepath.Join(f.Root, "proc/10/root")
	if err := errors.Join(
		os.Symlink("policy.yaml", filepath.Join(root, "etc/link")),
		os.Symlink("/etc/secret", filepath.Join(root, "etc/absolute")),
		os.Symlink("../../../../etc/secret", filepath.Join(root, "etc/out")),
		unix.Mkfifo(filepath.Join(root, "etc/fifo"), 0o600),
		os.WriteFile(filepath.Join(root, "etc/large"), nil, 0o600), os.Truncate(filepath.Join(root, "etc/large"), maxNamed+1),
	); err != nil {
		t.Fatal(err)
	}
	p := process.Process{Dir: "proc/10"}
	for _, name := range []string{"/etc/policy.yaml", "/etc/link", "/etc/../../etc/policy.yaml"} {
		if text, err := Read(m, p, name); err != nil || string(text) != "theirs" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"/etc/absolute", "/etc/out", "/etc/fifo", "/etc/large", "/etc", "/etc/none"} {
		if text, err := Read(m, p, name); err == nil {
			t.Errorf("%s: read %.20q", name, text)
		}
	}
}
