// Package runtimes has the scenarios of container runtimes, existing registries and GPUs.
package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// Conflict installs a runtime from each source on servers with podman, which must not change:
// containerd from its archive next to podman's runc, and containerd.io and CRI-O from their
// packages next to podman's crun. A server with Docker's containerd.io must be refused.
func Conflict(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildRuntimes(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	for _, n := range neighbours(e.Cache) {
		if err := withRuntime(ctx, e, n); err != nil {
			return err
		}
	}
	return dockersContainerd(ctx, e)
}

// neighbour is a runtime that is installed next to podman.
type neighbour struct {
	name    string   // of its bundle's directory
	servers int      // the first is a control-plane host, the others are workers
	runs    string   // podman's own runtime
	edits   []string // of airgap.yaml
	program string
	rpm     string // its package, "" for an archive
	runc    string // path of the package's runc
	// A package that dnf must not change, a directory with versions of it, the dnf command
	// that would change it, and the version that this command would install.
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
			name: "archive", servers: 1, runs: "runc", edits: oneServer(), program: "/opt/airgap/bin/containerd",
			locked: "kubelet", repository: upstream.KubernetesPackages(cache), drifts: "downgrade kubelet", offered: "1.36.0",
		},
		{
			name: "containerd.io", servers: 2, runs: "crun", program: "/usr/bin/containerd", rpm: "containerd.io",
			locked: "containerd.io", repository: upstream.DockerPackages(cache), drifts: "upgrade", offered: "2.3.8",
			edits: []string{before, "runtime:\n  source: package\n  overrides:\n"},
		},
		{
			name: "cri-o", servers: 1, runs: "crun", program: "/usr/bin/crio", rpm: "cri-o", runc: "/usr/libexec/crio/runc",
			locked: "cri-o", repository: upstream.CRIOPackages(cache), drifts: "upgrade", offered: "1.36.4",
			edits: oneServer(crio...),
		},
	}
}

// withRuntime installs a cluster on servers with podman, and resets it.
func withRuntime(ctx context.Context, e *scenario.Env, n neighbour) error {
	return e.WithServers(ctx, n.servers, func(l *lab.Lab) error {
		s := &sharedServers{e, n, l.Machines, filepath.Join(e.Work, n.name), map[string]scenario.Picture{}, map[string]string{}}
		parts := s.parts(ctx)
		for i := range parts {
			parts[i].Title = n.name + ": " + parts[i].Title
		}
		return e.InOrder(parts)
	})
}

// sharedServers are servers with podman that get a cluster's runtime.
type sharedServers struct {
	*scenario.Env
	neighbour
	machines []lab.Machine
	stick    string
	bare     map[string]scenario.Picture // from before the installation, by server
	podman   map[string]string
}

func (s *sharedServers) parts(ctx context.Context) []scenario.Part {
	first := s.machines[0]
	return []scenario.Part{
		{Title: "podman is installed", Run: func() error {
			return s.each(func(m lab.Machine) error { return withPodman(ctx, s.Env, m, s.neighbour) })
		}},
		{Title: "survey", Run: func() error { return errors.Join(os.RemoveAll(s.Facts()), s.Survey(ctx, s.machines...)) }},
		{Title: "bundle", Run: func() error { return s.MakeBundle(ctx, s.stick, s.edits...) }},
		{Title: "pictures before", Run: func() error { return s.each(func(m lab.Machine) error { return s.look(ctx, m) }) }},
		{Title: "the program, from the stick", Run: func() error { return s.InstallProgram(ctx, first, s.stick) }},
		{Title: "install, twice", Run: func() error { return installTwice(ctx, s.Env, first) }},
		{Title: "join, twice", Run: func() error { return s.joinOthers(ctx) }},
		{Title: "podman is unchanged", Run: func() error {
			return s.each(func(m lab.Machine) error { return samePodman(ctx, s.Env, m, s.podman[m.Name()]) })
		}},
		{Title: "verify", Run: func() error { return s.Verified(ctx, first) }},
		{Title: "pods run", Run: func() error { return podsRun(ctx, s.Env, first) }},
		{Title: "pods run with the configured runtime", Run: func() error {
			return s.each(func(m lab.Machine) error { return isRuntime(ctx, s.Env, m, s.neighbour) })
		}},
		{Title: "dnf keeps the package", Run: func() error { return keptPackage(ctx, s.Env, first, s.neighbour) }},
		{Title: "reset", Run: func() error { return s.leave(ctx) }},
	}
}

// each calls do for all servers, the last one first: workers must be reset before the control
// plane.
func (s *sharedServers) each(do func(lab.Machine) error) error {
	for _, m := range slices.Backward(s.machines) {
		if err := do(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *sharedServers) look(ctx context.Context, m lab.Machine) (err error) {
	if s.podman[m.Name()], err = podmanState(ctx, s.Env, m); err != nil {
		return err
	}
	s.bare[m.Name()], err = s.Picture(ctx, m)
	return err
}

func (s *sharedServers) joinOthers(ctx context.Context) error {
	for _, m := range s.machines[1:] {
		if err := s.Join(ctx, s.machines[0], m, s.stick); err != nil {
			return err
		}
	}
	return nil
}

func (s *sharedServers) leave(ctx context.Context) error {
	if err := s.machines[0].PullStick(ctx); err != nil {
		return err
	}
	return s.each(func(m lab.Machine) error {
		return errors.Join(scenario.ResetAll(ctx, s.Env, m, s.bare[m.Name()]), samePodman(ctx, s.Env, m, s.podman[m.Name()]))
	})
}

// installTwice installs twice: the second installation must change nothing.
func installTwice(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := e.InstallOnce(ctx, m); err != nil {
		return err
	}
	again, err := e.AirgapOn(ctx, m, "", "install", scenario.LabSkips, lab.StickPath+"/bank")
	if err == nil && again.Changed != 0 {
		err = fmt.Errorf("a second install reports %+v, want nothing changed", again)
	}
	return err
}

// podsRun creates pods of an image that only the bundle has, and sends a request to one.
func podsRun(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	return e.Script(ctx, first,
		scenario.Kubectl+"create deployment hello --image=docker.io/library/hello:1.0 --port=8080 --replicas=2",
		scenario.Kubectl+"rollout status deployment hello --timeout=120s",
		"curl -sf --max-time 5 http://$("+scenario.Kubectl+"get pod -l app=hello -o jsonpath='{.items[0].status.podIP}'):8080/")
}

// isRuntime checks that the runtime of airgap.yaml runs, and that only configuration files of its
// package have changed.
func isRuntime(ctx context.Context, e *scenario.Env, m lab.Machine, n neighbour) error {
	running := "/proc/$(systemctl show --property=MainPID --value " + filepath.Base(n.program) + ")/exe"
	if err := e.Script(ctx, m, "test $(readlink "+running+") = "+n.program); err != nil || n.rpm == "" {
		return err
	}
	return e.Script(ctx, m, "! test -e /opt/airgap/bin", "rpm -q "+n.rpm, "! rpm -V --nodeps "+n.rpm+" | grep -v ' c /'")
}

// keptPackage offers dnf newer and older versions of a locked package. dnf must not install them; it
// would without the lock.
func keptPackage(ctx context.Context, e *scenario.Env, m lab.Machine, n neighbour) error {
	before, err := e.Must(ctx, m, nil, "rpm", "-q", n.locked)
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
	if err := unlocked.Want("dnf without the lock", 1, n.offered, "Operation aborted"); err != nil {
		return err
	}
	for _, how := range []string{"upgrade", "upgrade " + n.locked, "install " + n.locked + "-" + n.offered, "downgrade " + n.locked} {
		if _, err := e.On(ctx, m, "", "sh", "-c", dnf+"--assumeyes "+how); err != nil { // it may succeed with nothing to do
			return err
		}
	}
	after, err := e.Must(ctx, m, nil, "rpm", "-q", n.locked)
	if err != nil {
		return err
	}
	if after.Stdout != before.Stdout {
		return fmt.Errorf("got the package %s after dnf, want %s", after.Stdout, before.Stdout)
	}
	return e.Script(ctx, m, "grep -q '^"+n.locked+"-0:' /etc/dnf/plugins/versionlock.list", "rm -rf /tmp/dnf")
}

// dockersContainerd checks two refusals. airgap bundle must refuse a server on which podman uses
// runc. airgap install must refuse a server with Docker's containerd.io, and change nothing.
func dockersContainerd(ctx context.Context, e *scenario.Env) error {
	n := neighbours(e.Cache)[1]
	stick := filepath.Join(e.Work, "docker")
	return e.WithServers(ctx, 1, func(l *lab.Lab) error {
		m := l.Machines[0]
		var before scenario.Picture
		return e.InOrder([]scenario.Part{
			{Title: "a bundle for a server with podman and runc", Run: func() error {
				n.runs = "runc"
				return errors.Join(os.RemoveAll(e.Facts()), withPodman(ctx, e, m, n), e.Survey(ctx, m), obsoletesRunc(ctx, e, n), e.Script(ctx, m, "podman stop web && rpm -e podman runc"))
			}},
			{Title: "a bundle for a server without podman", Run: func() error {
				return errors.Join(e.Survey(ctx, m), e.MakeBundle(ctx, stick, n.edits...))
			}},
			{Title: "Docker is installed", Run: func() error { return withDocker(ctx, e, m) }},
			{Title: "the program, from the stick", Run: func() error { return errors.Join(e.InstallProgram(ctx, m, stick), e.TakePicture(ctx, m, &before)) }},
			{Title: "install is refused", Run: func() error {
				r, err := e.On(ctx, m, "", "airgap", "install", scenario.LabSkips, lab.StickPath+"/bank")
				if err != nil {
					return err
				}
				return errors.Join(r.Want("install next to Docker", 3, "runtime-present", "containerd is running (package containerd.io 2.3.7, which Docker uses)", "nothing was changed"),
					e.MatchesPicture(ctx, m, before, scenario.Exception{Lines: `^\+ (file|content)\t.* /var/lib/airgap/lock( |$)`, Why: "airgap's lock"}))
			}},
		})
	})
}

// obsoletesRunc checks that the solver names the package that would be removed, and the
// alternative source.
func obsoletesRunc(ctx context.Context, e *scenario.Env, n neighbour) error {
	config, err := e.Config("airgap.yaml", n.edits...)
	if err != nil {
		return err
	}
	return e.Do(ctx, 1, []string{"containerd.io-2.3.7, but it obsoletes runc-1.2.5-1.el9.x86_64, which would be removed", "runtime.source: archive"},
		"bundle", "--plan", "--facts", e.Facts(), "-f", config)
}

func withDocker(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := m.AttachStick(ctx, upstream.DockerPackages(e.Cache)); err != nil {
		return err
	}
	return errors.Join(
		e.Script(ctx, m, "cd "+lab.StickPath+" && rpm --install --nosignature --nodeps containerd.io-2.3.7-*.rpm docker-ce-*.rpm",
			"systemctl daemon-reload && systemctl enable --now docker && systemctl is-active containerd docker"),
		m.PullStick(ctx))
}
