package scenario

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

//go:embed gpu.yaml
var gpuYAML string

// driverPackages is a driver of one branch with what it is compiled with, and the toolkit.
const driverPackages = `[nvidia-driver-cuda-3:580.82.07, kmod-nvidia-open-dkms-3:580.82.07, nvidia-fabricmanager-580.82.07, nvidia-container-toolkit-base, kernel-devel, kernel-headers]`

const nvmlHelper = "/usr/libexec/airgap/airgap-nvml"

// gpuEdits make the worker a host with cards.
func gpuEdits() []string {
	return []string{
		"address: 10.88.0.12, roles: [worker]", "address: 10.88.0.12, roles: [worker, gpu]",
		"images:\n  list:\n", `    - name: appstream
      baseURL: https://dl.rockylinux.org/pub/rocky/9/AppStream/x86_64/os/
      gpgKeys: [https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9]
    - name: epel
      baseURL: https://dl.fedoraproject.org/pub/epel/9/Everything/x86_64/
      gpgKeys: [https://dl.fedoraproject.org/pub/epel/RPM-GPG-KEY-EPEL-9]
    - name: cuda
      baseURL: https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/
      gpgKeys: [https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/D42D0685.pub]
  install: ` + driverPackages + `
images:
  list:
    - nvcr.io/nvidia/k8s-device-plugin:v0.19.0
`,
	}
}

// gpu is a cluster with a worker that has two H100 and an NVSwitch: from the stick to a
// pod that has one of them, and to a card that fails.
func gpu(ctx context.Context, e *Env) error {
	if err := upstream.BuildGPU(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	stick := filepath.Join(e.Work, "stick")
	return e.BankOf(ctx, []lab.Kind{lab.KindContainer, lab.KindHopper, lab.KindVolta}, func(l *lab.Lab) error {
		first, worker, older := l.Machines[0], l.Machines[1], l.Machines[2]
		return e.inOrder([]part{
			{"a driver that does not fit", func() error { return e.wrongDrivers(ctx, older) }},
			{"the driver's .run file", func() error { return e.runfile(ctx, older) }},
			{"survey", func() error { return e.survey(ctx, first, worker) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick, gpuEdits()...) }},
			{"the program, from the stick", func() error { return e.begin(ctx, first, stick) }},
			{"install", func() error { return e.installOnce(ctx, first) }},
			{"join", func() error { return e.join(ctx, first, worker, stick) }},
			{"the driver", func() error { return e.driver(ctx, worker) }},
			{"cards are offered, and a pod has one", func() error { return e.pluggedIn(ctx, first, worker) }},
			{"a card fails", func() error { return e.cardFails(ctx, first, worker) }},
			{"a power cut", func() error { return e.cardsAgain(ctx, first, worker) }},
			{"verify", func() error { return e.verified(ctx, first) }},
		})
	})
}

// wrongDrivers tries what cannot be on a server with two V100, one reason after the other, until
// a driver loads, and then takes another version's library. It stays out of the cluster.
func (e *Env) wrongDrivers(ctx context.Context, m lab.Machine) error {
	install := func(names string) string { return "cd " + lab.StickPath + " && rpm -U --nodeps --nosignature " + names }
	if err := errors.Join(
		m.AttachStick(ctx, upstream.Drivers(e.Cache)),
		e.script(ctx, m, install("kmod-nvidia-open-dkms-580.82.07* nvidia-kmod-common-580.82.07*"),
			notLoaded("not found in directory", "true")),
		m.PullStick(ctx), m.AttachStick(ctx, upstream.Compilers(e.Cache)),
		e.script(ctx, m, install("*/kernel-devel* */gcc* */make*"), notLoaded("No such device", "dmesg | grep -c 'nouveau has it'")),
		m.Kill(ctx), m.Start(ctx), // without nouveau, which nvidia-kmod-common forbids
		m.AttachStick(ctx, upstream.Drivers(e.Cache)),
	); err != nil {
		return err
	}
	return errors.Join(e.script(ctx, m,
		notLoaded("No such device", "dmesg | grep -c 'not supported by open'"),
		"rpm -e --nodeps kmod-nvidia-open-dkms", install("kmod-nvidia-latest-dkms-580.82.07* libnvidia-ml-580.82.07*"),
		"modprobe nvidia && grep -q 'x86_64 Kernel Module  580.82.07' /proc/driver/nvidia/version"),
		e.helper(ctx, m),
		e.script(ctx, m, nvmlHelper+` | grep -q '"name":"Tesla V100-PCIE-32GB"'`,
			install("libnvidia-ml-595.45.04*"), "! "+nvmlHelper+" >/dev/null 2>/tmp/said && grep -q version /tmp/said"))
}

// runfile has the same server take its driver from the .run file, which works where programs
// may run, and gives all back.
func (e *Env) runfile(ctx context.Context, m lab.Machine) error {
	if err := m.PullStick(ctx); err != nil {
		return err
	}
	if err := m.AttachStick(ctx, filepath.Dir(upstream.Runfile(e.Cache))); err != nil {
		return err
	}
	const run = "sh " + lab.StickPath + "/*.run --silent --kernel-module-type=proprietary "
	return e.script(ctx, m,
		"modprobe -r nvidia && ! test -e /proc/driver/nvidia && rpm -e --nodeps kmod-nvidia-latest-dkms libnvidia-ml",
		"cd "+lab.StickPath+" && sha256sum --quiet -c *.sha256sum",
		"mkdir /tmp/noexec && mount -t tmpfs -o noexec tmpfs /tmp/noexec && ! "+run+" --tmpdir=/tmp/noexec 2>/tmp/said && grep -q 'may not be run' /tmp/said",
		run+" --tmpdir=/root && ! ls /root | grep selfgz",
		nvmlHelper+` | grep -q '"driver":"580.82.07"' && nvidia-smi -L | grep -c V100 | grep -qx 2`,
		run+" --uninstall && ! test -e /usr/bin/nvidia-smi && ! test -e /proc/driver/nvidia && ! modprobe nvidia")
}

// notLoaded wants modprobe to fail with those words, and one more line in the kernel's log,
// which all servers share.
func notLoaded(words, count string) string {
	return "before=$(" + count + "); ! modprobe nvidia 2>/tmp/said && grep -q '" + words + "' /tmp/said && { " +
		"[ -z \"$before\" ] || [ $(" + count + ") -gt $before ]; }"
}

// helper puts it in by hand: airgap.rpm does not bring it.
func (e *Env) helper(ctx context.Context, m lab.Machine) error {
	program, err := os.Open(filepath.Join(filepath.Dir(e.Program), "airgap-nvml"))
	if err != nil {
		return err
	}
	defer program.Close()
	return lab.PutFile(ctx, m, nvmlHelper, 0o755, program)
}

// driver loads it, and wants NVIDIA's library to see both cards, in the fabric.
func (e *Env) driver(ctx context.Context, m lab.Machine) error {
	if err := e.helper(ctx, m); err != nil {
		return err
	}
	if err := e.script(ctx, m,
		"modprobe nvidia",
		"grep -q ' 580.82.07 ' /proc/driver/nvidia/version",
		"systemctl enable --now nvidia-persistenced nvidia-fabricmanager",
		"systemctl start nvidia-cdi-refresh && "+specified,
	); err != nil {
		return err
	}
	_, err := e.must(ctx, m, []string{
		`"driver":"580.82.07"`, `"address":"0000:17:00.0"`, `"address":"0000:3d:00.0"`, `"fabric":{"state":"completed"}`,
	}, nvmlHelper)
	return err
}

// specified is the toolkit's specification, with the driver's library in it.
const specified = "grep -q 'hostPath: /usr/lib64/libcuda.so.580.82.07' /var/run/cdi/nvidia.yaml"

// offered waits until the node has that many cards to give.
func offered(m lab.Machine, cards string) string {
	return kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.status.allocatable.nvidia\.com/gpu}'=` + cards + " --timeout=120s"
}

// pluggedIn has a pod ask for a card: it finds a device, and what belongs to it.
func (e *Env) pluggedIn(ctx context.Context, first, worker lab.Machine) error {
	r, err := e.On(ctx, first, gpuYAML, "sh", "-c", kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.want("apply the device plugin", 0); err != nil {
		return err
	}
	return e.script(ctx, first, offered(worker, "2"), kubectl+"rollout status deploy/cuda --timeout=120s",
		inPod("cards=$(echo /dev/nvidia[0-9]); test -c $cards && test -c /dev/nvidiactl && test -c /dev/nvidia-uvm"),
		inPod("test -s /usr/lib64/libcuda.so.580.82.07 && test -e /usr/lib64/libcuda.so.1"),
		inPod("test $NVIDIA_VISIBLE_DEVICES = void"))
}

// inPod runs a line of shell in the pod that has a card. A second card would be a second
// word, which test does not take.
func inPod(line string) string { return kubectl + "exec deploy/cuda -- sh -c '" + line + "'" }

// cardFails has the driver report what takes a card off the bus, Xid 79.
func (e *Env) cardFails(ctx context.Context, first, worker lab.Machine) error {
	if err := e.script(ctx, worker, "echo xid 1 79 >>/proc/driver/nvidia/stub"); err != nil {
		return err
	}
	return e.script(ctx, first, offered(worker, "1"))
}

// cardsAgain wants the driver to be back after a power cut, and both cards.
func (e *Env) cardsAgain(ctx context.Context, first, worker lab.Machine) error {
	if err := worker.Kill(ctx); err != nil {
		return err
	}
	if err := worker.Start(ctx); err != nil {
		return err
	}
	if err := e.script(ctx, worker, specified); err != nil {
		return err
	}
	return e.script(ctx, first,
		kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s", offered(worker, "2"),
		kubectl+"rollout status deploy/cuda --timeout=120s", inPod("test -c /dev/nvidiactl"))
}
