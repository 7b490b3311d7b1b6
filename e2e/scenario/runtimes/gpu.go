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

// gpuEdits returns the edits that give the lab's airgap.yaml two workers with GPUs and the
// repositories of their driver. gpu is the value of the gpu section.
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
		// No package can have the release of the outer kernel as its version.
		"    etcd-fsync: {severity: warn}\n", "    etcd-fsync: {severity: warn}\n    gpu-kernel-devel: {severity: warn}\n",
	}
}

// GPU tests drivers from NVIDIA's repository and from NVIDIA's installer, and MIG.
func GPU(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildGPU(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	if err := gpuPackages(ctx, e); err != nil {
		return err
	}
	if err := gpuInstaller(ctx, e); err != nil {
		return err
	}
	return gpuMIG(ctx, e)
}

// gpuPackages installs a cluster with two workers: one has two H100 behind an NVSwitch, the other
// two V100 that nouveau uses. The bundle has the drivers of both. Pods get GPUs, a GPU fails, a
// library gets another version, and reset removes the driver.
func gpuPackages(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindHopper, lab.KindVolta}, func(l *lab.Lab) error {
		first, worker, older := l.Machines[0], l.Machines[1], l.Machines[2]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "survey by script", Run: func() error { return scenario.SurveyByScript(ctx, e, worker) }},
			{Title: "a driver that does not fit", Run: func() error { return wrongDriver(ctx, e) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, gpuEdits(`{devicePlugin: "0.19.0"}`)...) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "the driver", Run: func() error { return driver(ctx, e, first, worker) }},
			{Title: "GPUs that nouveau uses", Run: func() error { return joinAfterReboot(ctx, e, first, older, stick) }},
			{Title: "GPUs are offered, and a pod has one", Run: func() error { return gpuUsed(ctx, e, first, worker, older) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a library of another version", Run: func() error { return otherLibrary(ctx, e, first, worker) }},
			{Title: "a GPU fails", Run: func() error { return gpuFails(ctx, e, first, worker) }},
			{Title: "a GPU is removed", Run: func() error { return gpuRemoved(ctx, e, first, worker) }},
			{Title: "a power cut", Run: func() error { return gpusRestored(ctx, e, first, worker) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a kernel without a module of the driver", Run: func() error { return otherKernel(ctx, e, first, worker) }},
			{Title: "a toolkit's drop-in has the other cgroup driver", Run: func() error { return otherDriver(ctx, e, first) }},
			{Title: "install overrides it", Run: func() error { return errors.Join(e.InstallOnce(ctx, first), overridden(ctx, e, first)) }},
			{Title: "reset", Run: func() error { return driverRemoved(ctx, e, older) }},
		})
	})
}

// wrongDriver checks that airgap bundle refuses a driver branch that no longer supports the GPUs of
// a host, before it downloads anything.
func wrongDriver(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("wrong.yaml", gpuEdits("{branch: 595}")...)
	if err != nil {
		return err
	}
	return e.Do(ctx, 2, []string{"node3: no driver 595 supports all GPUs: NVIDIA Volta 10de:1db6 requires proprietary 580 and earlier"},
		"bundle", "--plan", "--facts", e.Facts(), "-f", config)
}

// driver checks the driver, units and packages that join set up for the GPUs.
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

// joinAfterReboot joins a host on which nouveau uses the GPUs: join must fail with a hint to
// reboot, and the same command must continue after the reboot.
func joinAfterReboot(ctx context.Context, e *scenario.Env, first, m lab.Machine, stick string) error {
	line, err := e.JoinLine(ctx, first, m.Name())
	if err != nil {
		return err
	}
	if err := e.InstallProgram(ctx, m, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, m, line.Code+"\n", append([]string{"airgap"}, e.JoinArgs(line)...)...)
	if err != nil {
		return err
	}
	if err := r.Want("join while nouveau has the GPUs", 1, "nouveau is in use", "reboot this host, then run the same command again"); err != nil {
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

// specified checks that the CDI specification has the driver's library.
const specified = "grep -q 'hostPath: /usr/lib64/libcuda.so.580.82.07' /var/run/cdi/nvidia.yaml"

// offered returns a shell line that waits until the node offers a number of GPUs.
func offered(m lab.Machine, number string) string {
	return scenario.Kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.status.allocatable.nvidia\.com/gpu}'=` + number + " --timeout=120s"
}

// labelled returns a shell line that waits for a label that the host's report sets.
func labelled(m lab.Machine, name, value string) string {
	return scenario.Kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.metadata.labels.nvidia\.com/` + name + `}'=` + value + " --timeout=120s"
}

// gpuUsed checks the pods with a GPU: with the default runtime and with the handler nvidia they have
// its devices and libraries. A pod with the handler and without a request must have no GPU,
// although its environment asks for one.
func gpuUsed(ctx context.Context, e *scenario.Env, first, worker, older lab.Machine) error {
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
		inPod(hasGPU), inPod(hasLibrary),
		inPod("test $NVIDIA_VISIBLE_DEVICES = void"),
		scenario.Kubectl+"wait pod/handler --for=condition=Ready --timeout=120s", scenario.Kubectl+"exec handler -- sh -c '! test -e /dev/nvidia0 && ! test -e /dev/nvidiactl'",
		scenario.Kubectl+"wait pod/handled --for=condition=Ready --timeout=120s", scenario.Kubectl+"exec handled -- sh -c '"+hasGPU+" && "+hasLibrary+"'",
		scenario.Kubectl+"delete pod handler handled --grace-period=1", // no controller creates them again after a power cut
	)
}

// hasGPU and hasLibrary check a pod with one GPU. With a second GPU, test would fail because of a
// second argument.
const (
	hasGPU     = "gpus=$(echo /dev/nvidia[0-9]); test -c $gpus && test -c /dev/nvidiactl && test -c /dev/nvidia-uvm"
	hasLibrary = "test -s /usr/lib64/libcuda.so.580.82.07 && test -e /usr/lib64/libcuda.so.1"
)

// inPod returns a shell line that runs another one in the pod with a GPU.
func inPod(line string) string { return scenario.Kubectl + "exec deploy/cuda -- sh -c '" + line + "'" }

// otherLibrary installs a library of another version on a host: verify and gpu status must report it.
func otherLibrary(ctx context.Context, e *scenario.Env, first, m lab.Machine) error {
	if err := errors.Join(m.AttachStick(ctx, upstream.Drivers(e.Cache)),
		e.Script(ctx, m, "cd "+lab.StickPath+" && rpm -U --nodeps --nosignature libnvidia-ml-595.45.04*", reportNow)); err != nil {
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
		e.Script(ctx, m, "cd "+lab.StickPath+" && rpm -U --nodeps --nosignature --oldpackage libnvidia-ml-580.82.07* && ldconfig", reportNow),
		m.PullStick(ctx), e.Verified(ctx, first))
}

// toolkitFile is a drop-in for containerd, as a vendor's GPU toolkit writes one at each start.
const toolkitFile = "/etc/containerd/conf.d/99-toolkit.toml"

// otherDriver configures another cgroup driver for the runtime: verify must name it with the file.
func otherDriver(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	return errors.Join(
		e.Script(ctx, first, "mkdir -p /etc/containerd/conf.d", "printf '%s\\n' 'version = 3' '[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.runc.options]' 'SystemdCgroup = false' >"+toolkitFile, reportNow),
		finds(ctx, e, first, "cgroups", "Node node1", "cgroupfs", toolkitFile))
}

// overridden checks that the host's driver is in effect, and that the toolkit's file is unchanged.
func overridden(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	return errors.Join(
		e.Script(ctx, first, "/opt/airgap/bin/containerd config dump | grep -q 'SystemdCgroup = true'", "grep -q 'SystemdCgroup = false' "+toolkitFile, reportNow),
		e.Verified(ctx, first), e.Script(ctx, first, "rm "+toolkitFile))
}

// reportNow makes the host send a new report.
const reportNow = "systemctl restart airgap-node-report"

// finds checks that a rule of verify fails with these words.
func finds(ctx context.Context, e *scenario.Env, first lab.Machine, rule string, words ...string) error {
	r, err := e.On(ctx, first, "", "airgap", "verify", scenario.LabSkips, "--timeout", "45s", "--soak", "40s", "--only", rule)
	if err != nil {
		return err
	}
	return r.Want("verify", 4, words...)
}

// fakeJournalctl comes before the real journalctl in PATH, and adds one line to the kernel's log.
const fakeJournalctl = "/usr/local/bin/journalctl"

// gpuFails makes the driver report Xid 79, a GPU that fell off the bus: to clients of its library,
// such as the device plugin, and in the kernel's log, which verify reads. The real log belongs to
// the outer machine: there, all servers would report the line for a day.
func gpuFails(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := e.Script(ctx, worker, "echo xid 1 79 >>/proc/driver/nvidia/stub",
		`printf '#!/bin/sh\n[ "$1" != --dmesg ] || echo "%s.000000 node2 kernel: NVRM: Xid (PCI:0000:3d:00): 79, GPU has fallen off the bus."\nexec /usr/bin/journalctl "$@"\n' "$(date +%s)" >`+fakeJournalctl,
		"chmod 755 "+fakeJournalctl, reportNow); err != nil {
		return err
	}
	return errors.Join(e.Script(ctx, first, offered(worker, "1")),
		finds(ctx, e, first, "gpus", "Node node2", "1 nvidia.com/gpu allocatable", "0000:3d:00.0: Xid 79 at 2", "[GPU-4d0b2c7e-1f35-4a11-9c02-000000000100]"),
		e.Script(ctx, worker, "rm "+fakeJournalctl, reportNow))
}

// gpuRemoved removes a GPU while the server is off: its driver accepts that, verify must not.
func gpuRemoved(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := errors.Join(e.Script(ctx, worker, "mv /usr/lib/lab/pci/0000:3d:00.0 /root/gpu"), worker.Kill(ctx), worker.Start(ctx)); err != nil {
		return err
	}
	if err := e.Script(ctx, first, scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s", offered(worker, "1")); err != nil {
		return err
	}
	return errors.Join(finds(ctx, e, first, "gpus", "Node node2", "1 on the PCI bus, 2 when airgap set them up"),
		e.Script(ctx, worker, "mv /root/gpu /usr/lib/lab/pci/0000:3d:00.0"))
}

// gpusRestored checks that the driver and both GPUs work again after a power cut.
func gpusRestored(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
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
		scenario.Kubectl+"rollout status deploy/cuda --timeout=120s", scenario.Retry(inPod("test -c /dev/nvidiactl")))
}

// otherKernel simulates a kernel update after the installation: the new kernel has no module of the
// driver and no headers. verify and gpu status must report it.
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
	return errors.Join(err, e.Script(ctx, worker, "mv "+away+" "+headers), gpusRestored(ctx, e, first, worker), e.Verified(ctx, first))
}

// driverRemoved checks that reset removes the driver, and that nouveau uses the GPUs after the next
// boot. It does not check files that scripts of NVIDIA's packages leave behind.
func driverRemoved(ctx context.Context, e *scenario.Env, m lab.Machine) error {
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

// gpuInstaller joins a worker with CRI-O and two V100. NVIDIA's installer installs the driver, after
// a reboot without nouveau. Two pods share each GPU, and reset uninstalls the driver.
func gpuInstaller(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "installer")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindVolta}, func(l *lab.Lab) error {
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
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return joinAfterReboot(ctx, e, first, worker, stick) }},
			{Title: "each GPU is offered twice", Run: func() error {
				return errors.Join(
					e.Script(ctx, worker, "grep -q 'x86_64 Kernel Module  580.82.07' /proc/driver/nvidia/version", "! rpm -q nvidia-driver-cuda", "! rpm -q nvidia-persistenced",
						"systemctl is-active --quiet airgap-persistenced", "systemctl is-enabled --quiet airgap-persistenced"),
					e.Script(ctx, first, offered(worker, "4")))
			}},
			{Title: "a pod has one of them, through CRI-O", Run: func() error { return onePod(ctx, e, first) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "reset", Run: func() error { return driverRemoved(ctx, e, worker) }},
		})
	})
}

// onePod creates a pod that requests a V100.
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
		scenario.Kubectl+"rollout status deploy/cuda --timeout=120s", inPod(hasGPU), inPod(hasLibrary))
}
