package scenario

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed nas.py
var nasPY string

// korean is the environment of an operator's login in Korea.
var korean = []string{"LANG=ko_KR.UTF-8", "LC_ALL=ko_KR.UTF-8", "LANGUAGE=ko"}

// OddHosts installs two servers with settings of real sites: root's shell is tcsh, with umask 077 and a Korean locale; /proc
// hides other users' programs; /tmp has noexec; /var/lib/containerd is a symbolic link; a thousand file systems are
// mounted, and the server of one of them does not answer. Preflight also names what an earlier cluster left.
func OddHosts(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]Part{
			{"odd settings", func() error { return oddSettings(ctx, e, l.Machines) }},
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"survey by script", func() error { return SurveyByScript(ctx, e, worker) }},
			{"bundle", func() error {
				return errors.Join(e.AuthorizeKeys(ctx, first, worker), e.MakeBundle(ctx, stick, "nodes:\n", "ssh:\n  identityFile: ~/.ssh/bank\nnodes:\n"))
			}},
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, first, stick) }},
			{"preflight names the settings", func() error {
				return oddly(ctx, e, first, []string{" without gid= hides other users' programs from all agents", "/var/lib/containerd is /data/containerd", "077 at login", "passed"}, "airgap", "preflight", LabSkips, e.BundleOnStick())
			}},
			{"preflight names the rest of an earlier cluster", func() error { return earlierCluster(ctx, e, first) }},
			{"install, through tcsh", func() error {
				return oddly(ctx, e, first, []string{"the cluster is verified: 2 nodes"}, InstallOverSSH()...)
			}},
			{"files have modes that pods can read", func() error {
				return e.Script(ctx, worker, "test $(stat -c %a /opt/airgap/bin) = 755", "test $(stat -c %a /etc/systemd/system/containerd.service) = 644",
					"test -d /data/containerd/io.containerd.snapshotter.v1.overlayfs")
			}},
			{"a workload", func() error { return e.Workload(ctx, first) }},
			{"status and verify", func() error {
				return errors.Join(oddly(ctx, e, first, []string{"2 of 2 nodes ready"}, "airgap", "status"), oddly(ctx, e, first, nil, "airgap", "verify", LabSkips))
			}},
			{"reset", func() error {
				for _, m := range []lab.Machine{worker, first} {
					if err := oddly(ctx, e, m, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
						return err
					}
				}
				return e.Script(ctx, worker, "test -L /var/lib/containerd && test -z \"$(ls /data/containerd)\"", "! rpm -q kubelet >/dev/null", "grep -c ' /mnt/many/' /proc/self/mounts | grep -qx 1000")
			}},
		})
	})
}

// oddSettings prepares the servers, and checks that the settings are in effect.
func oddSettings(ctx context.Context, e *Env, machines []lab.Machine) error {
	for _, m := range machines {
		if err := e.Script(ctx, m,
			"printf 'umask 077\\nsetenv LANG ko_KR.UTF-8\\nsetenv LC_ALL ko_KR.UTF-8\\n' >>/etc/csh.cshrc && usermod --shell /bin/tcsh root",
			"su - root -c 'umask; ls /missing' 2>&1 | grep -q '그런 파일'",
			"sed -i 's/^UMASK.*/UMASK 077/' /etc/login.defs && echo 'LANG=ko_KR.UTF-8' >/etc/locale.conf",
			"echo 'proc /proc proc defaults,hidepid=2 0 0' >>/etc/fstab && mount -o remount,hidepid=2 /proc",
			"mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp",
			"mkdir -p /data/containerd && mount --bind /var/lib/containerd /data/containerd && umount /var/lib/containerd && rmdir /var/lib/containerd && ln -s /data/containerd /var/lib/containerd",
			"for i in $(seq 1000); do mkdir -p /mnt/many/$i && mount -t tmpfs -o size=4k tmpfs /mnt/many/$i || exit 1; done",
		); err != nil {
			return err
		}
		r, err := e.On(ctx, m, nasPY, "sh", "-c", "cat >/run/nas.py && systemd-run --quiet --unit=nas python3 /run/nas.py")
		if err != nil {
			return err
		}
		if err := errors.Join(r.Want("mount a file system that does not answer", 0), e.Script(ctx, m, Retry("grep -q ' /mnt/archive ' /proc/self/mounts"), "! timeout -s KILL 2 stat /mnt/archive")); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	return nil
}

// earlierCluster leaves on a server what tools and administrators leave: preflight must stop, and name each file. It removes the
// files again.
func earlierCluster(ctx context.Context, e *Env, m lab.Machine) error {
	const unit, dropIn, all = "/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/proxy.conf", "/etc/systemd/system/service.d/hardening.conf"
	plant := e.Script(ctx, m,
		"mkdir -p "+filepath.Dir(dropIn)+" "+filepath.Dir(all)+" /etc/sysconfig",
		"printf '[Service]\nExecStart=/usr/local/bin/kubelet --cgroup-driver=cgroupfs\n' >"+unit,
		"printf '[Service]\nEnvironment=HTTP_PROXY=http://10.1.2.3:3128\n' >"+dropIn,
		"printf '[Service]\nPrivateTmp=yes\n' >"+all,
		"printf '#!/bin/sh\nexit 1\n' >/usr/local/bin/kubeadm && chmod +x /usr/local/bin/kubeadm && systemctl daemon-reload")
	if plant != nil {
		return plant
	}
	const checks = "unit-files,program-path,proxy-env,service-drop-ins"
	r, err := e.On(ctx, m, "", "airgap", "preflight", LabSkips, "--only", checks, e.BundleOnStick())
	if err != nil {
		return err
	}
	return errors.Join(
		r.Want("preflight beside the rest of an earlier cluster", 3, unit+" hides the unit of package kubelet", "/usr/local/bin/kubeadm before the program of the cluster",
			dropIn+" line 2 sets a proxy", "PrivateTmp=yes for kubelet in "+all),
		e.Script(ctx, m, "rm -r "+unit+" "+filepath.Dir(dropIn)+" "+filepath.Dir(all)+" /usr/local/bin/kubeadm && systemctl daemon-reload"))
}

// oddly runs a command in the environment of the operator, with umask 077.
func oddly(ctx context.Context, e *Env, m lab.Machine, parts []string, args ...string) error {
	r, err := e.exec(ctx, m, lab.Cmd{Args: append([]string{"sh", "-c", `umask 077; exec "$@"`, "sh"}, args...), Env: korean})
	if err != nil {
		return err
	}
	return r.Want(m.Name()+": "+args[0]+" "+args[1], 0, parts...)
}
