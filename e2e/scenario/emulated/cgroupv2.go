package emulated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/upgrade"
	"airgap.dev/airgap/e2e/upstream"
)

// CgroupV2 plays the life of a server with cgroup v2. It installs with the product's
// defaults, reboots, gives kubelet and runtime different cgroup drivers and repairs them.
// Then it upgrades by a minor version, with a power cut during the upgrade.
func CgroupV2(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	stick, next := filepath.Join(e.Work, "stick"), filepath.Join(e.Work, "next", "stick")
	return e.WithServersOf(ctx, lab.KindEmulated.Times(1), func(l *lab.Lab) error {
		m := l.Machines[0]
		return e.InOrder([]scenario.Part{
			{Title: "cgroup v2, and systemd", Run: func() error {
				return e.Script(ctx, m, "test $(stat -fc %T /sys/fs/cgroup) = cgroup2fs", "test $(cat /proc/1/comm) = systemd")
			}},
			{Title: "a bundle of Kubernetes 1.35", Run: func() error {
				return errors.Join(e.Survey(ctx, m), bundleOf(ctx, e, "airgap.yaml", stick, `version: "1.36.3"`, `version: "1.35.8"`))
			}},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, m, stick) }},
			{Title: "install", Run: func() error { return installHere(ctx, e, m) }},
			{Title: "runtime, kubelet and pods use the same cgroup driver", Run: func() error { return cgroupsAgree(ctx, e, m) }},
			{Title: "a reboot", Run: func() error { return rebooted(ctx, e, m) }},
			{Title: "the kubelet gets the other driver", Run: func() error { return otherDriver(ctx, e, m) }},
			{Title: "install restores the driver", Run: func() error { return driverRestored(ctx, e, m, stick) }},
			{Title: "a bundle of Kubernetes 1.36", Run: func() error {
				return errors.Join(os.MkdirAll(filepath.Dir(next), 0o755), e.Survey(ctx, m), bundleOf(ctx, e, "next/airgap.yaml", next))
			}},
			{Title: "a power cut during the upgrade", Run: func() error { return cutDuringUpgrade(ctx, e, m, next) }},
			{Title: "the same command continues", Run: func() error { return upgradeContinues(ctx, e, m, next) }},
			{Title: "runtime, kubelet and pods still use the same cgroup driver", Run: func() error { return cgroupsAgree(ctx, e, m) }},
			{Title: "verify", Run: func() error { return slowlyVerified(ctx, e, m) }},
		})
	})
}

func bundleOf(ctx context.Context, e *scenario.Env, name, stick string, edits ...string) error {
	config, err := e.Render(name, plainTemplate, edits...)
	if err != nil {
		return err
	}
	return e.Do(ctx, 0, []string{"proven against"}, "bundle", "-f", config, "--facts", e.Facts(), "-o", stick)
}

// cgroupsAgree checks the cgroup driver in effect: in the runtime's configuration, in the
// kubelet's configuration, and by the cgroups of the pods.
func cgroupsAgree(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"/opt/airgap/bin/containerd config dump | grep -q 'SystemdCgroup = true'",
		"grep -qx 'cgroupDriver: systemd' /var/lib/kubelet/config.yaml",
		scenario.Kubectl+"get --raw /api/v1/nodes/node1/proxy/configz | grep -q '\"cgroupDriver\":\"systemd\"'",
		"ls -d /sys/fs/cgroup/kubepods.slice/kubepods-*.slice/*/cri-containerd-*.scope >/dev/null",
		"! test -e /sys/fs/cgroup/kubepods")
}

// slowlyVerified runs verify with a timeout that is long enough for an emulated processor.
func slowlyVerified(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	_, err := e.Must(ctx, m, nil, "airgap", "verify", scenario.LabSkips, "--timeout", slowly)
	return err
}

// rebooted restarts the server, which must then be healthy.
func rebooted(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := restarted(ctx, e, m); err != nil {
		return err
	}
	return slowlyVerified(ctx, e, m)
}

// restarted shuts the server down cleanly and starts it again.
func restarted(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := e.Script(ctx, m, "systemd-run --quiet --on-active=1 systemctl poweroff"); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(time.Second) {
		if m.Exec(ctx, lab.Cmd{Args: []string{"true"}}) != nil {
			return errors.Join(m.Kill(ctx), m.Start(ctx))
		}
	}
	return errors.New("wait for the shutdown: the server still runs after 3 minutes")
}

// otherDriver writes the other driver into the kubelet's file. verify must name it after the
// host's next report.
func otherDriver(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m, "sed -i 's/^cgroupDriver: systemd$/cgroupDriver: cgroupfs/' /var/lib/kubelet/config.yaml", scenario.VerifyNamesDriver)
}

// driverRestored plugs in the stick, which is not plugged in after the reboot. It installs, and
// then pulls the stick, because the upgrade uses another one.
func driverRestored(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := errors.Join(installPlain(ctx, e, m, stick), m.PullStick(ctx)); err != nil {
		return err
	}
	return errors.Join(cgroupsAgree(ctx, e, m), slowlyVerified(ctx, e, m))
}

// cutDuringUpgrade cuts the power while kubeadm replaces static pods.
func cutDuringUpgrade(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	const begin = `cd %s/bank && rpm --import RPM-GPG-KEY-airgap && rpm -U --oldpackage --replacepkgs airgap.rpm
setsid %s >/run/up.out 2>/run/up.err </dev/null & p=$!
until grep -q '\[upgrade/staticpods\].*Moving new manifest' /var/log/airgap/kubeadm-upgrade.log 2>/dev/null; do kill -0 $p || { cat /run/up.err >&2; exit 1; }; sleep 0.5; done`
	if err := e.Script(ctx, m, fmt.Sprintf(begin, lab.StickPath, strings.Join(upgrade.Command("--timeout", slowly), " "))); err != nil {
		return err
	}
	return errors.Join(m.Kill(ctx), m.Start(ctx))
}

func upgradeContinues(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	_, err := e.Must(ctx, m, []string{"upgraded from Kubernetes 1.35.8 to 1.36.3 and verified"}, upgrade.Command("--timeout", slowly)...)
	return errors.Join(err, e.Script(ctx, m, scenario.Kubectl+"get nodes -o jsonpath={.items[0].status.nodeInfo.kubeletVersion} | grep -qx v1.36.3"))
}
