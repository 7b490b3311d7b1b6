package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// crioEdits selects CRI-O with the lab's runc, see labRunc.
func crioEdits() []string {
	return []string{
		"runtime:\n  overrides:\n    plugins:\n      io.containerd.cri.v1.runtime:\n        restrict_oom_score_adj: true\n",
		"runtime:\n  name: crio\n  overrides:\n    crio:\n      runtime: {runtimes: {runc: {runtime_path: " + labRunc + "}}}\n",
	}
}

// labRunc gives CRI-O the effect of containerd's restrict_oom_score_adj. Containerd also limits
// privileged containers to its own capabilities. No process in the lab has CAP_SYS_RESOURCE, so
// none may lower the score.
const (
	labRunc     = "/usr/local/sbin/runc"
	labRuncText = `#!/bin/sh
for word; do
	[ "$before" = --bundle ] && sed -i 's/"oomScoreAdj": *-[0-9]*/"oomScoreAdj": 0/; /"CAP_SYS_RESOURCE",$/d' "$word/config.json"
	before=$word
done
exec /opt/airgap/bin/runc "$@"
`
)

// podmanSettings writes podman's settings on a bank's servers, which CRI-O would also read: a removed
// mirror, required signatures, a policy that rejects all images, another storage driver, an old
// password, a subscription for every container.
const podmanSettings = `mkdir -p /etc/containers/registries.conf.d /etc/containers/registries.d /run/containers/0 /srv/subscription
echo secret >/srv/subscription/key.pem && echo /srv/subscription:/run/secrets >/etc/containers/mounts.conf
echo 'default-docker: {lookaside: "https://sig.bank.example"}' >/etc/containers/registries.d/default.yaml
mkdir -p /etc/crio/crio.conf.d && printf '[crio.runtime]\npids_limit = 4096\n' >/etc/crio/crio.conf.d/50-bank.conf
echo '{"auths": {"10.88.0.11:5000": {"auth": "YmFuazpnb25l"}}}' >/run/containers/0/auth.json
echo 'unqualified-search-registries = ["mirror.bank.example"]' >/etc/containers/registries.conf
printf '[[registry]]\nprefix = "registry.k8s.io"\nlocation = "mirror.bank.example/k8s"\n' >/etc/containers/registries.conf.d/bank.conf
echo '{"default": [{"type": "reject"}]}' >/etc/containers/policy.json
printf '[storage]\ndriver = "vfs"\nrunroot = "/run/bank"\ngraphroot = "/srv/bank"\nimagestore = "/srv/images"\n' >/etc/containers/storage.conf`

// CRIO installs a cluster with CRI-O next to podman, which must not change.
func CRIO(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		var bare, bareWorker scenario.Picture
		return e.InOrder([]scenario.Part{
			{Title: "podman's settings, and the lab's runc", Run: func() error { return errors.Join(prepareServer(ctx, e, first), prepareServer(ctx, e, worker)) }},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, crioEdits()...) }},
			{Title: "unknown programs cannot run", Run: func() error { return errors.Join(scenario.Harden(ctx, e, first), scenario.Harden(ctx, e, worker)) }},
			{Title: "pictures before", Run: func() error {
				return errors.Join(e.TakePicture(ctx, first, &bare), e.TakePicture(ctx, worker, &bareWorker))
			}},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "install, twice", Run: func() error { return e.Install(ctx, first) }},
			{Title: "join, twice", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a workload", Run: func() error { return e.Workload(ctx, first) }},
			{Title: "a broken pod is found", Run: func() error { return scenario.Broken(ctx, e, first, "127.0.0.1:1: connect: connection refused") }},
			{Title: "the images that the cluster needs are pinned", Run: func() error { return errors.Join(pinnedByCRIO(ctx, e, first), pinnedByCRIO(ctx, e, worker)) }},
			{Title: "pods have no files of podman", Run: func() error {
				return e.Script(ctx, first, scenario.Kubectl+"exec tools -- sh -c 'test ! -e /run/secrets/key.pem'")
			}},
			{Title: "the site's setting of CRI-O is in effect", Run: func() error {
				return e.Script(ctx, first, "/opt/airgap/bin/crio --config /etc/crio/crio.conf --config-dir /etc/crio/crio.conf.d config 2>/dev/null | grep -qx 'pids_limit = 4096'")
			}},
			{Title: "a host port", Run: func() error { return hostPort(ctx, e, first, worker) }},
			{Title: "the runtime restarts, and the pods stay", Run: func() error { return crioRestarts(ctx, e, first, worker) }},
			{Title: "a power cut that empties a file of an image", Run: func() error { return emptiedImage(ctx, e, first, worker) }},
			{Title: "reset of the worker", Run: func() error { return scenario.ResetAll(ctx, e, worker, bareWorker, bootedAgain()...) }},
			{Title: "reset of the control plane", Run: func() error {
				if err := first.PullStick(ctx); err != nil {
					return err
				}
				return scenario.ResetAll(ctx, e, first, bare)
			}},
		})
	})
}

// bootedAgain returns the differences that a power cut causes.
func bootedAgain() []scenario.Exception {
	return []scenario.Exception{
		{Lines: `^[+-] file\t.* /var/log/wtmp `, Why: "one more boot"},
		{Lines: `^- run\t. /run/containers`, Why: "podman's login does not survive a power cut"},
		{Lines: `^[+-] ((link|address)\teth0@|route\tlocal fe80::)`, Why: "the lab creates another network interface"},
	}
}

// prepareServer installs the lab's runc and podman's settings.
func prepareServer(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := lab.PutFile(ctx, m, labRunc, 0o755, strings.NewReader(labRuncText)); err != nil {
		return err
	}
	return e.Script(ctx, m, podmanSettings)
}

// pinnedByCRIO checks the pinned images with crictl, which comes with kubeadm.
func pinnedByCRIO(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.Must(ctx, m, nil, "crictl", "images", "--output", "json")
	if err != nil {
		return err
	}
	var list struct {
		Images []struct {
			RepoTags []string
			Pinned   bool
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		return err
	}
	var tags []string
	for _, i := range list.Images {
		if i.Pinned {
			tags = append(tags, i.RepoTags...)
		}
	}
	pinned := strings.Join(tags, " ")
	for _, want := range []string{"/pause:", "/kube-proxy:", "/flannel:", "/flannel-cni-plugin:"} {
		if !strings.Contains(pinned, want) {
			return fmt.Errorf("%s: got no pinned image %s, only %s", m.Name(), want, pinned)
		}
	}
	if strings.Contains(pinned, "/hello:") {
		return fmt.Errorf("%s: got a pinned image of the workload, want none: %s", m.Name(), pinned)
	}
	return nil
}

// hostPort creates a pod with a host port. Reset must remove the port's firewall rules.
func hostPort(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	const pod = `{"spec": {"nodeName": "node2", "containers": [{"name": "edge", "image": "hello:1.0", "ports": [{"containerPort": 8080, "hostPort": 8088}]}]}}`
	return e.Script(ctx, first,
		scenario.Kubectl+"run edge --image=hello:1.0 --overrides='"+pod+"'",
		scenario.Kubectl+"wait --for=condition=Ready pod/edge --timeout=60s",
		"curl -sf --max-time 5 http://"+worker.Addr().String()+":8088/")
}

// crioRestarts checks that a restart of CRI-O restarts no container.
func crioRestarts(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	const restarts = scenario.Kubectl + "get pods --all-namespaces -o jsonpath='{range .items[*]}{.metadata.name}={.status.containerStatuses[*].restartCount} {end}'"
	before, err := e.Must(ctx, first, nil, "sh", "-c", restarts)
	if err != nil {
		return err
	}
	if err := errors.Join(e.Script(ctx, worker, "systemctl restart crio"), e.Script(ctx, first, "systemctl restart crio"), e.Verified(ctx, first)); err != nil {
		return err
	}
	after, err := e.Must(ctx, first, nil, "sh", "-c", restarts)
	if err == nil && after.Stdout != before.Stdout {
		err = errors.New("got the container restarts " + after.Stdout + ", want " + before.Stdout)
	}
	return err
}

// emptiedImage cuts the power of a server while a file of a layer is not yet on the disk. The pod
// that needs the file must run.
func emptiedImage(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	return errors.Join(
		e.Script(ctx, first, scenario.Kubectl+"delete pod/tools --now --timeout=60s"),
		e.Script(ctx, worker, `file=$(find /var/lib/crio/storage/overlay -path '*/diff/*' -type f -name tools) && test -s "$file" && truncate -s 0 "$file"`),
		worker.Kill(ctx), worker.Start(ctx),
		e.Script(ctx, first, scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s"),
		podAgain(ctx, e, first),
		e.Verified(ctx, first),
		e.Script(ctx, worker, "journalctl -b -u crio --no-pager | grep -q 'Attempting to repair storage directory'"))
}

// podAgain creates the missing objects of the workload.
func podAgain(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, scenario.WorkloadYAML, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	return errors.Join(r.Want("apply the workload", 0), e.Script(ctx, m,
		scenario.Kubectl+"wait --for=condition=Ready pod/tools --timeout=120s",
		scenario.Kubectl+"exec tools -- tools get http://hello.default.svc.cluster.local/"))
}
