package scenario

import (
	"context"
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
			{"a broken pod is found", func() error { return e.broken(ctx, first, "not found") }},
			{"the images that it needs are pinned", func() error {
				const pinned = `/opt/airgap/bin/ctr -n k8s.io images ls -q 'labels."io.cri-containerd.pinned"==pinned'`
				return e.script(ctx, worker, pinned+" | grep -q /pause:3.10.1", pinned+" | grep -q /kube-proxy:v1.35.8", pinned+" | grep -q flannel")
			}},
			{"reset", func() error { return e.noMirrorsLeft(ctx, worker, first) }},
		})
	})
}
