package runtimes

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

//go:embed gpu.yaml
var gpuYAML string

// gpuEdits make two workers hosts with cards, whose driver comes from NVIDIA's
// repository; gpu is the section.
func gpuEdits(gpu string) []string {
	return []string{
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n",
		"  - {name: node2, address: 10.88.0.12, roles: [worker, gpu]}\n  - {name: node3, address: 10.88.0.13, roles: [worker, gpu]}\n",
		"images:\n  list:\n", `    - name: appstream
      baseURL: https://dl.rockylinux.org/pub/rocky/9/AppStream/x86_64/os/
      gpgKeys: [https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9]
    - name: epel
      baseURL: https://dl.fedoraproject.org/pub/epel/9/Everything/x86_64/
      gpgKeys: [https://dl.fedoraproject.org/pub/epel/RPM-GPG-KEY-EPEL-9]
    - name: cuda
      baseURL: https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/
      gpgKeys: [https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/D42D0685.pub]
gpu: ` + gpu + `
images:
  list:
`,
		// The outer kernel's release is none that a package's version can have.
		"    etcd-fsync: {severity: warn}\n", "    etcd-fsync: {severity: warn}\n    gpu-kernel-devel: {severity: warn}\n",
	}
}

// Gpu has drivers from NVIDIA's repository, and from its installer, and cards in parts.
func Gpu(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildGPU(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	if err := gpuPackages(ctx, e); err != nil {
		return err
	}
	if err := gpuInstaller(ctx, e); err != nil {
		return err
	}
	return gpuParts(ctx, e)
}

// gpuPackages is a cluster with a worker that has two H100 behind an NVSwitch and one with two
// V100 that nouveau holds: from the stick, which has the driver of each, to pods that have
// a card, to a card that fails and a library of another version, and back.
func gpuPackages(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.BankOf(ctx, []lab.Kind{lab.KindContainer, lab.KindHopper, lab.KindVolta}, func(l *lab.Lab) error {
		first, worker, older := l.Machines[0], l.Machines[1], l.Machines[2]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "survey by script", Run: func() error { return scenario.SurveyByScript(ctx, e, worker) }},
			{Title: "a driver that does not fit", Run: func() error { return wrongDriver(ctx, e) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, gpuEdits(`{devicePlugin: "0.19.0"}`)...) }},
			{Title: "the program, from the stick", Run: func() error { return e.Begin(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "the driver", Run: func() error { return driver(ctx, e, first, worker) }},
			{Title: "cards that nouveau holds", Run: func() error { return joinAfterReboot(ctx, e, first, older, stick) }},
			{Title: "cards are offered, and a pod has one", Run: func() error { return pluggedIn(ctx, e, first, worker, older) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a library of another version", Run: func() error { return otherLibrary(ctx, e, first, worker) }},
			{Title: "a card fails", Run: func() error { return cardFails(ctx, e, first, worker) }},
			{Title: "a card is taken out", Run: func() error { return cardGone(ctx, e, first, worker) }},
			{Title: "a power cut", Run: func() error { return cardsAgain(ctx, e, first, worker) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a kernel that the driver has no module for", Run: func() error { return otherKernel(ctx, e, first, worker) }},
			{Title: "a toolkit's drop-in has the other cgroup driver", Run: func() error { return otherDriver(ctx, e, first) }},
			{Title: "install overrules it", Run: func() error { return errors.Join(e.InstallOnce(ctx, first), overruled(ctx, e, first)) }},
			{Title: "reset", Run: func() error { return cardsGivenBack(ctx, e, older) }},
		})
	})
}

// wrongDriver: a branch that has dropped one host's cards is refused when the bundle is
// made, before anything is fetched.
func wrongDriver(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("wrong.yaml", gpuEdits("{branch: 595}")...)
	if err != nil {
		return err
	}
	return e.Do(ctx, 2, []string{"node3: no driver 595 supports all GPUs: NVIDIA Volta 10de:1db6 requires proprietary 580 and earlier"},
		"bundle", "--plan", "--facts", e.Facts(), "-f", config)
}

// driver wants what join has set up for the cards.
func driver(ctx context.Context, e *scenario.Env, first, m lab.Machine) error {
	if err := e.Script(ctx, m,
		"grep -q 'Open Kernel Module.* 580.82.07 ' /proc/driver/nvidia/version",
		"systemctl is-active --quiet nvidia-persistenced nvidia-fabricmanager",
		"rpm -q kmod-nvidia-open-dkms nvidia-driver-cuda nvidia-container-toolkit-base",
		"grep -q '^nvidia-driver-cuda-3:580.82.07' /etc/dnf/plugins/versionlock.list",
		specified,
		"/opt/airgap/bin/containerd config dump | grep -q \"BinaryName = '/usr/bin/nvidia-container-runtime'\"",
	); err != nil {
		return err
	}
	if _, err := e.Must(ctx, m, []string{"580.82.07", "0000:17:00.0", "0000:3d:00.0", "NVIDIA H100 80GB HBM3", "31 of 89 °C, off at 92"}, "airgap", "gpu", "status"); err != nil {
		return err
	}
	_, err := e.Must(ctx, m, []string{`"fabric":{"state":"completed"}`}, "/usr/libexec/airgap/airgap-nvml")
	return errors.Join(err, e.Script(ctx, first, "! rpm -q nvidia-driver-cuda"))
}

// joinAfterReboot: where nouveau has the cards, join ends with what to do, and the same
// line goes on afterwards.
func joinAfterReboot(ctx context.Context, e *scenario.Env, first, m lab.Machine, stick string) error {
	line, err := e.JoinLine(ctx, first, m.Name())
	if err != nil {
		return err
	}
	if err := e.Begin(ctx, m, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, m, line.Code+"\n", append([]string{"airgap"}, e.JoinArgs(line)...)...)
	if err != nil {
		return err
	}
	if err := r.Want("join while nouveau has the cards", 1, "nouveau is in use", "reboot this host, then run the same command again"); err != nil {
		return err
	}
	if err := errors.Join(m.Kill(ctx), m.Start(ctx)); err != nil {
		return err
	}
	if _, err := e.AirgapOn(ctx, m, line.Code+"\n", e.JoinArgs(line)...); err != nil {
		return err
	}
	return e.Script(ctx, m, "grep -q 'x86_64 Kernel Module  580.82.07' /proc/driver/nvidia/version", "! rpm -q kmod-nvidia-open-dkms", "! rpm -q nvidia-fabricmanager")
}

// specified is CDI's description, with the driver's library in it.
const specified = "grep -q 'hostPath: /usr/lib64/libcuda.so.580.82.07' /var/run/cdi/nvidia.yaml"

// offered waits until the node has that many cards to give.
func offered(m lab.Machine, cards string) string {
	return scenario.Kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.status.allocatable.nvidia\.com/gpu}'=` + cards + " --timeout=120s"
}

// labelled waits for what the host's report says of its cards.
func labelled(m lab.Machine, name, value string) string {
	return scenario.Kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.metadata.labels.nvidia\.com/` + name + `}'=` + value + " --timeout=120s"
}

// pluggedIn has a pod ask for a card: it finds a device, and what belongs to it, and so does one
// of the runtime's handler. One of the handler that was given no card finds none, whatever its
// environment says.
func pluggedIn(ctx context.Context, e *scenario.Env, first, worker, older lab.Machine) error {
	if err := e.Script(ctx, first, offered(worker, "2"), offered(older, "2"),
		labelled(worker, `gpu\.product`, "NVIDIA-H100-80GB-HBM3"), labelled(older, `gpu\.product`, "Tesla-V100-PCIE-32GB")); err != nil {
		return err
	}
	r, err := e.On(ctx, first, gpuYAML, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.Want("apply pods", 0); err != nil {
		return err
	}
	return e.Script(ctx, first, scenario.Kubectl+"rollout status deploy/cuda --timeout=120s",
		inPod(hasCard), inPod(hasLibrary),
		inPod("test $NVIDIA_VISIBLE_DEVICES = void"),
		scenario.Kubectl+"wait pod/handler --for=condition=Ready --timeout=120s", scenario.Kubectl+"exec handler -- sh -c '! test -e /dev/nvidia0 && ! test -e /dev/nvidiactl'",
		scenario.Kubectl+"wait pod/handled --for=condition=Ready --timeout=120s", scenario.Kubectl+"exec handled -- sh -c '"+hasCard+" && "+hasLibrary+"'",
		scenario.Kubectl+"delete pod handler handled --grace-period=1", // nobody would bring them back after a power cut
	)
}

// What a pod finds that asked for one card. A second card would be a second word, which test
// does not take.
const (
	hasCard    = "cards=$(echo /dev/nvidia[0-9]); test -c $cards && test -c /dev/nvidiactl && test -c /dev/nvidia-uvm"
	hasLibrary = "test -s /usr/lib64/libcuda.so.580.82.07 && test -e /usr/lib64/libcuda.so.1"
)

// inPod runs a line of shell in the pod that has a card.
func inPod(line string) string { return scenario.Kubectl + "exec deploy/cuda -- sh -c '" + line + "'" }

// otherLibrary mixes two versions on a host, which verify tells, and the host itself.
func otherLibrary(ctx context.Context, e *scenario.Env, first, m lab.Machine) error {
	if err := errors.Join(m.AttachStick(ctx, upstream.Drivers(e.Cache)),
		e.Script(ctx, m, "cd "+lab.StickPath+" && rpm -U --nodeps --nosignature libnvidia-ml-595.45.04*", lookAtCards)); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "gpu", "status")
	if err != nil {
		return err
	}
	if err := r.Want("gpu status", 1, "has another version than the loaded kernel module"); err != nil {
		return err
	}
	if err := finds(ctx, e, first, "gpus", "node2", "of another version"); err != nil {
		return err
	}
	return errors.Join(
		e.Script(ctx, m, "cd "+lab.StickPath+" && rpm -U --nodeps --nosignature --oldpackage libnvidia-ml-580.82.07* && ldconfig", lookAtCards),
		m.PullStick(ctx), e.Verified(ctx, first))
}

// toolkitFile is a drop-in for containerd as a card's toolkit writes one at each start.
const toolkitFile = "/etc/containerd/conf.d/99-toolkit.toml"

// otherDriver gives the runtime the driver that its host does not have, which verify
// names with the file.
func otherDriver(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	return errors.Join(
		e.Script(ctx, first, "mkdir -p /etc/containerd/conf.d", "printf '%s\\n' 'version = 3' '[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.runc.options]' 'SystemdCgroup = false' >"+toolkitFile, lookAtCards),
		finds(ctx, e, first, "cgroups", "Node node1", "cgroupfs", toolkitFile))
}

// overruled wants the host's driver in force, and the toolkit's file as it is.
func overruled(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	return errors.Join(
		e.Script(ctx, first, "/opt/airgap/bin/containerd config dump | grep -q 'SystemdCgroup = true'", "grep -q 'SystemdCgroup = false' "+toolkitFile, lookAtCards),
		e.Verified(ctx, first), e.Script(ctx, first, "rm "+toolkitFile))
}

// lookAtCards has the host's report made anew.
const lookAtCards = "systemctl restart airgap-node-report"

// finds wants verify to name one thing.
func finds(ctx context.Context, e *scenario.Env, first lab.Machine, rule string, words ...string) error {
	r, err := e.On(ctx, first, "", "airgap", "verify", scenario.LabSkips, "--timeout", "45s", "--soak", "40s", "--only", rule)
	if err != nil {
		return err
	}
	return r.Want("verify", 4, words...)
}

// toldXid is a journalctl, found before the real one, that has one line more of the kernel's.
const toldXid = "/usr/local/bin/journalctl"

// cardFails has the driver report what takes a card off the bus, Xid 79: to who listens to
// its library, as the device plugin does, and in the kernel's log, by which verify names it.
// The real log is the outer machine's, which would tell all servers of it for a day.
func cardFails(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := e.Script(ctx, worker, "echo xid 1 79 >>/proc/driver/nvidia/stub",
		`printf '#!/bin/sh\n[ "$1" != --dmesg ] || echo "%s.000000 node2 kernel: NVRM: Xid (PCI:0000:3d:00): 79, GPU has fallen off the bus."\nexec /usr/bin/journalctl "$@"\n' "$(date +%s)" >`+toldXid,
		"chmod 755 "+toldXid, lookAtCards); err != nil {
		return err
	}
	return errors.Join(e.Script(ctx, first, offered(worker, "1")),
		finds(ctx, e, first, "gpus", "Node node2", "1 nvidia.com/gpu allocatable", "0000:3d:00.0: Xid 79 at 2", "[GPU-4d0b2c7e-1f35-4a11-9c02-000000000100]"),
		e.Script(ctx, worker, "rm "+toldXid, lookAtCards))
}

// cardGone takes a card out while the server is off: its driver is content with the
// other one, verify is not.
func cardGone(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := errors.Join(e.Script(ctx, worker, "mv /usr/lib/lab/pci/0000:3d:00.0 /root/card"), worker.Kill(ctx), worker.Start(ctx)); err != nil {
		return err
	}
	if err := e.Script(ctx, first, scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s", offered(worker, "1")); err != nil {
		return err
	}
	return errors.Join(finds(ctx, e, first, "gpus", "Node node2", "1 on the PCI bus, 2 when airgap set them up"),
		e.Script(ctx, worker, "mv /root/card /usr/lib/lab/pci/0000:3d:00.0"))
}

// cardsAgain wants the driver to be back after a power cut, and both cards.
func cardsAgain(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := worker.Kill(ctx); err != nil {
		return err
	}
	if err := worker.Start(ctx); err != nil {
		return err
	}
	if err := e.Script(ctx, worker, specified); err != nil {
		return err
	}
	return e.Script(ctx, first,
		scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s", offered(worker, "2"),
		scenario.Kubectl+"rollout status deploy/cuda --timeout=120s", scenario.Soon(inPod("test -c /dev/nvidiactl")))
}

// otherKernel boots what a kernel is that was updated after the installation: one that nobody has
// built the module for, and whose headers are not there. Verify and the host tell.
func otherKernel(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	const headers, away = "/usr/src/kernels/$(uname -r)", "/root/headers"
	if err := errors.Join(
		e.Script(ctx, worker, "mv "+headers+" "+away, "cd /lib/modules/$(uname -r) && rm extra/nvidia.ko && sed -i '/^extra.nvidia.ko:/d' modules.dep"),
		worker.Kill(ctx), worker.Start(ctx),
		e.Script(ctx, first, scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s"),
		finds(ctx, e, first, "gpus", "Node node2", "no NVIDIA kernel module for the running kernel")); err != nil {
		return err
	}
	r, err := e.On(ctx, worker, "", "airgap", "gpu", "status")
	if err == nil {
		err = r.Want("gpu status", 1, "has no NVIDIA module")
	}
	return errors.Join(err, e.Script(ctx, worker, "mv "+away+" "+headers), cardsAgain(ctx, e, first, worker), e.Verified(ctx, first))
}

// cardsGivenBack: reset leaves nothing of the driver, and the next boot gives nouveau
// the cards again. What scripts of NVIDIA's own packages leave is theirs.
func cardsGivenBack(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	if err := e.Script(ctx, m, "! rpm -qa | grep -i -e nvidia -e kernel-devel -e dkms", "! ls /usr/bin/nvidia-* /usr/lib64/libnvidia-ml* 2>/dev/null",
		"! grep -rl airgap /etc/modprobe.d /etc/modules-load.d /etc/nvidia-container-runtime /etc/containerd 2>/dev/null",
		"! grep nvidia /etc/dnf/plugins/versionlock.list", "! systemctl is-enabled --quiet airgap-cdi airgap-mig airgap-persistenced", "! ls /var/lib/airgap/undo /var/lib/airgap/gpu 2>/dev/null",
		"! ls /var/run/cdi 2>/dev/null | grep nvidia"); err != nil {
		return err
	}
	return errors.Join(m.Kill(ctx), m.Start(ctx), e.Script(ctx, m, "grep -q DRIVER=nouveau /sys/bus/pci/devices/*/uevent"))
}

// gpuInstaller is a worker with two V100 whose driver NVIDIA's installer brings, after the
// reboot that takes nouveau from them, and whose runtime is CRI-O; each card is for two pods.
// reset uninstalls it.
func gpuInstaller(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "installer")
	return e.BankOf(ctx, []lab.Kind{lab.KindContainer, lab.KindVolta}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "the lab's runc", Run: func() error {
				return errors.Join(lab.PutFile(ctx, first, labRunc, 0o755, strings.NewReader(labRuncText)), lab.PutFile(ctx, worker, labRunc, 0o755, strings.NewReader(labRuncText)))
			}},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle with NVIDIA's installer", Run: func() error {
				sum, err := upstream.RunfileSum(e.Cache)
				if err != nil {
					return err
				}
				edits := gpuEdits(`{source: runfile, timeSlices: 2, devicePlugin: "0.19.0", installer: {url: "https://us.download.nvidia.com/tesla/580.82.07/NVIDIA-Linux-x86_64-580.82.07.run", sha256: ` + sum + `}}`)
				edits[1] = "  - {name: node2, address: 10.88.0.12, roles: [worker, gpu]}\n"
				return e.MakeBundle(ctx, stick, append(edits, crioEdits()...)...)
			}},
			{Title: "the program, from the stick", Run: func() error { return e.Begin(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return joinAfterReboot(ctx, e, first, worker, stick) }},
			{Title: "cards are offered twice", Run: func() error {
				return errors.Join(
					e.Script(ctx, worker, "grep -q 'x86_64 Kernel Module  580.82.07' /proc/driver/nvidia/version", "! rpm -q nvidia-driver-cuda", "! rpm -q nvidia-persistenced",
						"systemctl is-active --quiet airgap-persistenced", "systemctl is-enabled --quiet airgap-persistenced"),
					e.Script(ctx, first, offered(worker, "4")))
			}},
			{Title: "a pod has one of them, by CRI-O", Run: func() error { return onePod(ctx, e, first) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "reset", Run: func() error { return cardsGivenBack(ctx, e, worker) }},
		})
	})
}

// onePod asks for a V100.
func onePod(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	deployment, _, _ := strings.Cut(gpuYAML, "\n---\n")
	r, err := e.On(ctx, first, strings.Replace(deployment, "NVIDIA-H100-80GB-HBM3", "Tesla-V100-PCIE-32GB", 1), "sh", "-c", scenario.Kubectl+"apply -f -")
	if err == nil {
		err = r.Want("apply a pod", 0)
	}
	if err != nil {
		return err
	}
	return e.Script(ctx, first,
		scenario.Kubectl+"get nodes -o jsonpath='{.items[*].status.nodeInfo.containerRuntimeVersion}' | grep -q '^cri-o://.* cri-o://'",
		scenario.Kubectl+"rollout status deploy/cuda --timeout=120s", inPod(hasCard), inPod(hasLibrary))
}
