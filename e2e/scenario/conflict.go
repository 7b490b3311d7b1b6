package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

// conflict is each source of a runtime on servers that have podman already, which goes on
// as if nothing had come: containerd from its archive beside podman's runc, containerd.io
// and CRI-O from their packages beside podman's crun. And a server whose containerd.io is
// Docker's is refused.
func conflict(ctx context.Context, e *Env) error {
	if err := upstream.BuildRuntimes(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	for _, n := range neighbours(e.Cache) {
		if err := e.besideIt(ctx, n); err != nil {
			return err
		}
	}
	return e.dockersOwn(ctx)
}

// neighbour is a runtime that comes to live beside podman.
type neighbour struct {
	name  string   // of its bundle's directory
	runs  string   // podman's own runtime
	edits []string // of airgap.yaml
	rpm   string   // that brings it, "" for an archive
	runc  string   // of that package
	// A package that must not drift, a directory of versions of it, what would make it
	// drift, and to which version.
	locked, repository, drifts, offered string
}

func neighbours(cache string) []neighbour {
	const before = "runtime:\n  overrides:\n"
	oneServer := func(edits ...string) []string {
		return append([]string{"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", "", "roles: [control-plane]", "roles: [control-plane, worker]"}, edits...)
	}
	crio := crioEdits()
	crio[1] = strings.Replace(crio[1], "name: crio\n", "name: crio\n  source: package\n", 1)
	return []neighbour{
		{
			name: "archive", runs: "runc", edits: oneServer(),
			locked: "kubelet", repository: upstream.KubernetesPackages(cache), drifts: "downgrade kubelet", offered: "1.36.0",
		},
		{
			name: "containerd.io", runs: "crun", rpm: "containerd.io", runc: "/usr/bin/runc",
			locked: "containerd.io", repository: upstream.DockerPackages(cache), drifts: "upgrade", offered: "2.3.8",
			edits: oneServer(before, "runtime:\n  source: package\n  overrides:\n"),
		},
		{
			name: "cri-o", runs: "crun", rpm: "cri-o", runc: "/usr/libexec/crio/runc",
			locked: "cri-o", repository: upstream.CRIOPackages(cache), drifts: "upgrade", offered: "1.36.4",
			edits: oneServer(crio...),
		},
	}
}

// besideIt is a server from its podman to a cluster and back.
func (e *Env) besideIt(ctx context.Context, n neighbour) error {
	stick := filepath.Join(e.Work, n.name)
	return e.Bank(ctx, 1, func(l *lab.Lab) error {
		m := l.Machines[0]
		var bare picture
		var podman string
		return e.inOrder([]part{
			{n.name + ": podman is there", func() (err error) {
				if err := e.withPodman(ctx, m, n); err != nil {
					return err
				}
				podman, err = e.podman(ctx, m)
				return err
			}},
			{n.name + ": survey", func() error { return e.survey(ctx, m) }},
			{n.name + ": bundle", func() error { return e.makeBundle(ctx, stick, n.edits...) }},
			{n.name + ": picture before", func() error { return e.takePicture(ctx, m, &bare) }},
			{n.name + ": the program, from the stick", func() error { return e.begin(ctx, m, stick) }},
			{n.name + ": install, twice", func() error { return e.installTwice(ctx, m) }},
			{n.name + ": podman is as it was", func() error { return e.samePodman(ctx, m, podman) }},
			{n.name + ": verify", func() error { return e.verified(ctx, m) }},
			{n.name + ": pods run", func() error { return e.podsRun(ctx, m, n) }},
			{n.name + ": dnf keeps the package", func() error { return e.keptPackage(ctx, m, n) }},
			{n.name + ": reset", func() error {
				return errors.Join(m.PullStick(ctx), e.resetAll(ctx, m, bare), e.samePodman(ctx, m, podman))
			}},
		})
	})
}

// withPodman installs podman and its runtime as a bank did long ago, with a container that
// runs and a network of its own; and, for CRI-O, the lab's runc.
func (e *Env) withPodman(ctx context.Context, m lab.Machine, n neighbour) error {
	if err := m.AttachStick(ctx, upstream.PodmanPackages(e.Cache)); err != nil {
		return err
	}
	err := errors.Join(
		e.script(ctx, m,
			"cd "+lab.StickPath+" && rpm --install --nosignature podman-*.rpm "+n.runs+"-*.rpm",
			"mkdir -p /etc/containers/networks && echo '{\"name\": \"bank\", \"driver\": \"bridge\", \"network_interface\": \"podman1\"}' >/etc/containers/networks/bank.json",
			"ip link add podman1 type bridge && ip address add 10.89.0.1/24 dev podman1 && ip link set podman1 up",
			"podman run web"),
		m.PullStick(ctx))
	if err != nil || n.rpm != "cri-o" {
		return err
	}
	return lab.PutFile(ctx, m, labRunc, 0o755, strings.NewReader(strings.Replace(labRuncText, "/opt/airgap/bin/runc", n.runc, 1)))
}

// podman is what it says of itself and of its container, which has the same process to the
// end, and what rpm says of its files.
func (e *Env) podman(ctx context.Context, m lab.Machine) (string, error) {
	r, err := e.must(ctx, m, []string{"podman version", `"status":"running"`}, "sh", "-c",
		"podman --version; podman ps; rpm -V podman; rpm -q podman; sha256sum /usr/bin/podman /usr/bin/[rc]run[c]; find /etc/containers ! -name crio.conf -type f -exec sha256sum {} + | sort; ip -brief address show podman1")
	return r.Stdout, err
}

func (e *Env) samePodman(ctx context.Context, m lab.Machine, before string) error {
	now, err := e.podman(ctx, m)
	if err == nil && now != before {
		err = fmt.Errorf("podman was\n%s and is\n%s", before, now)
	}
	return err
}

// installTwice is a cluster of one server: nobody is to join.
func (e *Env) installTwice(ctx context.Context, m lab.Machine) error {
	if err := e.installOnce(ctx, m); err != nil {
		return err
	}
	again, err := e.airgapOn(ctx, m, "", "install", labSkips, lab.StickPath+"/bank")
	if err == nil && again.Changed != 0 {
		err = fmt.Errorf("a second install says %+v, want nothing changed", again)
	}
	return err
}

// podsRun wants a pod of an image that only the bundle has, run by the runtime that
// airgap.yaml names and by no other.
func (e *Env) podsRun(ctx context.Context, m lab.Machine, n neighbour) error {
	version, program := "containerd://", "/opt/airgap/bin/containerd"
	switch n.rpm {
	case "containerd.io":
		program = "/usr/bin/containerd"
	case "cri-o":
		version, program = "cri-o://", "/usr/bin/crio"
	}
	if err := e.script(ctx, m,
		kubectl+"create deployment hello --image=docker.io/library/hello:1.0 --port=8080 --replicas=2",
		kubectl+"rollout status deployment hello --timeout=120s",
		"curl -sf --max-time 5 http://$("+kubectl+"get pod -l app=hello -o jsonpath='{.items[0].status.podIP}'):8080/",
		kubectl+"get nodes -o jsonpath='{.items[0].status.nodeInfo.containerRuntimeVersion}' | grep "+version,
		"test $(readlink /proc/$(systemctl show --property=MainPID --value "+filepath.Base(program)+")/exe) = "+program,
	); err != nil || n.rpm == "" {
		return err
	}
	return e.script(ctx, m, "! test -e /opt/airgap/bin", "rpm -q "+n.rpm, "rpm -V --nodeps "+n.rpm+" | grep -v ' c /' | grep . && exit 1 || true")
}

// keptPackage offers dnf a newer and an older version of what must not drift. Without the
// lock it would take them.
func (e *Env) keptPackage(ctx context.Context, m lab.Machine, n neighbour) error {
	before, err := e.must(ctx, m, nil, "rpm", "-q", n.locked)
	if err != nil {
		return err
	}
	if err := errors.Join(m.PullStick(ctx), m.AttachStick(ctx, n.repository)); err != nil {
		return err
	}
	const dnf = "dnf --disablerepo='*' --repofrompath=offer,file://" + lab.StickPath + " --enablerepo=offer --setopt=offer.gpgcheck=0 --setopt=cachedir=/tmp/dnf --setopt=logdir=/tmp/dnf --setopt=persistdir=/tmp/dnf "
	unlocked, err := e.On(ctx, m, "", "sh", "-c", dnf+"--disableplugin=versionlock --assumeno "+n.drifts)
	if err != nil {
		return err
	}
	if err := unlocked.want("dnf without the lock", 1, n.offered, "Operation aborted"); err != nil {
		return err
	}
	for _, how := range []string{"upgrade", "upgrade " + n.locked, "install " + n.locked + "-" + n.offered, "downgrade " + n.locked} {
		if _, err := e.On(ctx, m, "", "sh", "-c", dnf+"--assumeyes "+how); err != nil { // it may end well: there is nothing to do
			return err
		}
	}
	after, err := e.must(ctx, m, nil, "rpm", "-q", n.locked)
	if err != nil {
		return err
	}
	if after.Stdout != before.Stdout {
		return fmt.Errorf("dnf has replaced %s by %s", before.Stdout, after.Stdout)
	}
	return e.script(ctx, m, "grep -q '^"+n.locked+"-0:' /etc/dnf/plugins/versionlock.list", "rm -rf /tmp/dnf")
}

// dockersOwn: the bundle is refused where podman has runc, and the installation where
// containerd.io is Docker's; nothing is changed by that.
func (e *Env) dockersOwn(ctx context.Context) error {
	n := neighbours(e.Cache)[1]
	stick := filepath.Join(e.Work, "docker")
	return e.Bank(ctx, 1, func(l *lab.Lab) error {
		m := l.Machines[0]
		var before picture
		return e.inOrder([]part{
			{"a bundle for a server whose podman has runc", func() error {
				n.runs = "runc"
				return errors.Join(e.withPodman(ctx, m, n), e.survey(ctx, m), e.inTheWay(ctx, n), e.script(ctx, m, "podman stop web && rpm -e podman runc"))
			}},
			{"a bundle for a server without", func() error {
				return errors.Join(e.survey(ctx, m), e.makeBundle(ctx, stick, n.edits...))
			}},
			{"Docker comes", func() error { return e.withDocker(ctx, m) }},
			{"the program, from the stick", func() error { return errors.Join(e.begin(ctx, m, stick), e.takePicture(ctx, m, &before)) }},
			{"install is refused", func() error {
				r, err := e.On(ctx, m, "", "airgap", "install", labSkips, lab.StickPath+"/bank")
				if err != nil {
					return err
				}
				return errors.Join(r.want("install beside Docker", 3, "runtime-present", "a containerd runs (package containerd.io 2.3.7, which Docker uses)", "nothing was changed"),
					e.asBefore(ctx, m, before, exception{`^\+ (file|content)\t.* /var/lib/airgap/lock( |$)`, "airgap's own"}))
			}},
		})
	})
}

// inTheWay wants the solver to say what would be removed, and what else there is.
func (e *Env) inTheWay(ctx context.Context, n neighbour) error {
	config, err := e.Config("airgap.yaml", n.edits...)
	if err != nil {
		return err
	}
	return e.do(ctx, 1, []string{"containerd.io-2.3.7, but it obsoletes runc-1.2.5-1.el9.x86_64, which would be removed", "runtime.source: archive"},
		"bundle", "--plan", "--facts", e.facts(), "-f", config)
}

func (e *Env) withDocker(ctx context.Context, m lab.Machine) error {
	if err := m.AttachStick(ctx, upstream.DockerPackages(e.Cache)); err != nil {
		return err
	}
	return errors.Join(
		e.script(ctx, m, "cd "+lab.StickPath+" && rpm --install --nosignature --nodeps containerd.io-2.3.7-*.rpm docker-ce-*.rpm",
			"systemctl daemon-reload && systemctl enable --now docker && systemctl is-active containerd docker"),
		m.PullStick(ctx))
}
