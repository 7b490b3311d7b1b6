package runtimes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// Containerd1Edits selects the last line of containerd with version 2 of its configuration,
// and the last Kubernetes that supports it.
func Containerd1Edits() []string {
	return []string{
		`version: "1.36.3"`, `version: "1.35.8"`,
		"runtime:\n  overrides:\n", "runtime:\n  version: 1.7.35\n  overrides:\n",
		"io.containerd.cri.v1.runtime:", "io.containerd.grpc.v1.cri:",
	}
}

// Containerd1 installs a cluster of Kubernetes 1.35 on containerd 1.7, which pins images by
// label, and resets it.
func Containerd1(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, Containerd1Edits()...) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "install, twice", Run: func() error { return e.Install(ctx, first) }},
			{Title: "join, twice", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "the versions of containerd and kubelet", Run: func() error {
				return e.Script(ctx, first,
					scenario.Kubectl+"get nodes -o jsonpath='{.items[*].status.nodeInfo.containerRuntimeVersion}' | grep -x 'containerd://[v]*1.7.35 containerd://[v]*1.7.35'",
					scenario.Kubectl+"get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}' | grep -x 'v1.35.8 v1.35.8'",
					"grep -qx 'version = 2' /etc/containerd/config.toml")
			}},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a workload", Run: func() error { return e.Workload(ctx, first) }},
			{Title: "a broken pod is found", Run: func() error { return scenario.Broken(ctx, e, first, "not found") }},
			{Title: "the images that the cluster needs are pinned", Run: func() error {
				const pinned = `/opt/airgap/bin/ctr -n k8s.io images ls -q 'labels."io.cri-containerd.pinned"==pinned'`
				return e.Script(ctx, worker, pinned+" | grep -q /pause:3.10.1", pinned+" | grep -q /kube-proxy:v1.35.8", pinned+" | grep -q flannel")
			}},
			{Title: "a kubelet runs with another cgroup driver than its file has", Run: func() error { return staleDriver(ctx, e, first, worker) }},
			{Title: "reset", Run: func() error { return noMirrorsLeft(ctx, e, worker, first) }},
		})
	})
}

// staleDriver starts a worker's kubelet with another cgroup driver, and restores its file without a
// restart. verify must name it, and the same join must repair it. Unlike 2.x, this containerd does
// not send its driver to the kubelet.
func staleDriver(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	driver := scenario.Kubectl + "get --raw /api/v1/nodes/" + worker.Name() + `/proxy/configz | grep -q '"cgroupDriver":"%s"'`
	const config = "/var/lib/kubelet/config.yaml"
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return err
	}
	if err := errors.Join(
		e.Script(ctx, worker, "cp -p "+config+" /run/kubelet.was && sed -i 's/^cgroupDriver: systemd$/cgroupDriver: cgroupfs/' "+config+" && systemctl restart kubelet"),
		e.Script(ctx, first, "for n in $(seq 60); do "+fmt.Sprintf(driver, "cgroupfs")+" && exit; sleep 1; done; exit 1"),
		e.Script(ctx, worker, "mv /run/kubelet.was "+config),
		e.Script(ctx, first, scenario.VerifyNamesDriver)); err != nil {
		return err
	}
	done, err := e.AirgapOn(ctx, worker, "", e.JoinArgs(line)...)
	if err != nil {
		return err
	}
	if done.Changed != 1 {
		return fmt.Errorf("the second join reports %+v, want one changed step", done)
	}
	return errors.Join(e.Script(ctx, first, fmt.Sprintf(driver, "systemd")), e.Verified(ctx, first))
}
