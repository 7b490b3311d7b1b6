package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

// containerd1Edits choose the last line of containerd with version 2 of its
// configuration, and the last Kubernetes that goes with it.
func containerd1Edits() []string {
	return []string{
		`version: "1.36.3"`, `version: "1.35.8"`,
		"runtime:\n  overrides:\n", "runtime:\n  version: 1.7.35\n  overrides:\n",
		"io.containerd.cri.v1.runtime:", "io.containerd.grpc.v1.cri:",
	}
}

// containerd1 is a cluster of Kubernetes 1.35 on containerd 1.7, whose images are pinned by
// label, and their way back.
func containerd1(ctx context.Context, e *Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	stick := filepath.Join(e.Work, "stick")
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.inOrder([]part{
			{"survey", func() error { return e.survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick, containerd1Edits()...) }},
			{"the program, from the stick", func() error { return e.begin(ctx, first, stick) }},
			{"install, twice", func() error { return e.install(ctx, first) }},
			{"join, twice", func() error { return e.join(ctx, first, worker, stick) }},
			{"it is that containerd, with that kubelet", func() error {
				return e.script(ctx, first,
					kubectl+"get nodes -o jsonpath='{.items[*].status.nodeInfo.containerRuntimeVersion}' | grep -x 'containerd://[v]*1.7.35 containerd://[v]*1.7.35'",
					kubectl+"get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}' | grep -x 'v1.35.8 v1.35.8'",
					"grep -qx 'version = 2' /etc/containerd/config.toml")
			}},
			{"verify", func() error { return e.verified(ctx, first) }},
			{"a workload", func() error { return e.workload(ctx, first) }},
			{"a broken pod is found", func() error { return broken(ctx, e, first, "not found") }},
			{"the images that it needs are pinned", func() error {
				const pinned = `/opt/airgap/bin/ctr -n k8s.io images ls -q 'labels."io.cri-containerd.pinned"==pinned'`
				return e.script(ctx, worker, pinned+" | grep -q /pause:3.10.1", pinned+" | grep -q /kube-proxy:v1.35.8", pinned+" | grep -q flannel")
			}},
			{"a kubelet that runs by a driver which its file no longer names", func() error { return runsOtherwise(ctx, e, first, worker) }},
			{"reset", func() error { return noMirrorsLeft(ctx, e, worker, first) }},
		})
	})
}

// runsOtherwise starts a worker's kubelet with another driver and puts its file right without
// starting it anew: verify names it, and the same join puts it right. This containerd tells no
// kubelet its driver, as 2.x does.
func runsOtherwise(ctx context.Context, e *Env, first, worker lab.Machine) error {
	driver := kubectl + "get --raw /api/v1/nodes/" + worker.Name() + `/proxy/configz | grep -q '"cgroupDriver":"%s"'`
	const config = "/var/lib/kubelet/config.yaml"
	line, err := e.joinLine(ctx, first, worker.Name())
	if err != nil {
		return err
	}
	if err := errors.Join(
		e.script(ctx, worker, "cp -p "+config+" /run/kubelet.was && sed -i 's/^cgroupDriver: systemd$/cgroupDriver: cgroupfs/' "+config+" && systemctl restart kubelet"),
		e.script(ctx, first, "for n in $(seq 60); do "+fmt.Sprintf(driver, "cgroupfs")+" && exit; sleep 1; done; exit 1"),
		e.script(ctx, worker, "mv /run/kubelet.was "+config),
		e.script(ctx, first, namesDriver)); err != nil {
		return err
	}
	done, err := e.airgapOn(ctx, worker, "", e.joinArgs(line)...)
	if err != nil {
		return err
	}
	if done.Changed != 1 {
		return fmt.Errorf("join again says %+v, want one step", done)
	}
	return errors.Join(e.script(ctx, first, fmt.Sprintf(driver, "systemd")), e.verified(ctx, first))
}
