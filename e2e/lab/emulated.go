package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/e2e/lab/root"
)

// An Emulated is a Machine made by QEMU. It has its own processor, kernel, disk and USB
// port, so that it can test features that a Container does not have. Commands reach it
// through SSH, like a real server.
type Emulated struct {
	name    string
	addr    netip.Addr
	dir     string // this server's files: its disk, its keys, its console
	image   root.Image
	hosts   string // /etc/hosts
	network Network
	cgroup  cgroup // QEMU's, on the outer machine
	ssh     *sshHost
}

const (
	emulatedBootTimeout = 10 * time.Minute
	emulatedProcessors  = "2"
	// The features of every x86-64-v2 processor, without AES and AVX. Programs use these
	// where they exist, and they are slower on an emulated processor: ChaCha20 and SHA-256
	// with AVX2 take 2 and 1.3 times as long.
	emulatedProcessor = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt"
	// QEMU translates code once for each address it runs at. A running cluster fills the
	// default buffer (1 GiB) every minute, and QEMU then discards it.
	emulatedAccelerator = "tcg,thread=multi,tb-size=2048"
	// norandmaps: libraries have the same address in every process, so QEMU reuses its
	// translation, and a process starts in a quarter of the time. tsc: the processor's
	// clock is the outer machine's, so it is reliable. Without these arguments the kernel
	// does not trust it and reads the HPET, one processor at a time and fifteen times
	// slower. no_timer_check: on a busy outer machine no tick may arrive during the
	// kernel's timer check, and the kernel then panics.
	emulatedKernelArgs = "norandmaps tsc=reliable clocksource=tsc no_timer_check"
	emulatedMemory     = "4096" // MiB
)

// Name implements Machine.
func (e *Emulated) Name() string { return e.name }

// Addr implements Machine.
func (e *Emulated) Addr() netip.Addr { return e.addr }

// Exec implements Machine.
func (e *Emulated) Exec(ctx context.Context, cmd Cmd) error { return e.ssh.Exec(ctx, cmd) }

func (e *Emulated) path(elem ...string) string {
	return filepath.Join(append([]string{e.dir}, elem...)...)
}

// Files in the machine's directory.
const (
	diskFile    = "disk.qcow2"
	monitorFile = "monitor"
	stickFile   = "stick.img"
)

// Start implements Machine.
func (e *Emulated) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, emulatedBootTimeout)
	defer cancel()
	steps := []func(context.Context) error{e.insertDisk, e.provision, e.plugIn, e.powerOn, e.waitBooted}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("start %s: %w", e.name, err)
		}
	}
	return nil
}

// insertDisk makes a disk that contains only the differences from the image. It does not
// change a disk that has been used before.
func (e *Emulated) insertDisk(ctx context.Context) error {
	if _, err := os.Stat(e.path(diskFile)); err == nil {
		return nil
	}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return err
	}
	_, err := outer(ctx, "", "qemu-img", "create", "-q", "-f", "qcow2", "-b", e.image.Disk(), "-F", "raw", e.path(diskFile))
	return err
}

func (e *Emulated) plugIn(ctx context.Context) error {
	if err := e.network.plug(ctx, e.name); err != nil {
		return err
	}
	return e.cgroup.create()
}

// powerOn starts QEMU, which goes into the background after a successful start.
func (e *Emulated) powerOn(ctx context.Context) error {
	pids, err := e.cgroup.pids()
	if err != nil {
		return err
	}
	if len(pids) > 0 {
		return alreadyOn(pids[0])
	}
	argv, err := e.cgroup.run(append([]string{"nsenter", "--net=" + e.network.Path()}, e.qemu()...)...)
	if err != nil {
		return err
	}
	_, err = outer(ctx, "", argv...)
	return err
}

func (e *Emulated) qemu() []string {
	argv := []string{"qemu-system-x86_64", "-daemonize", "-nodefaults", "-no-user-config", "-display", "none",
		"-machine", "q35,sata=off,smbus=off", "-accel", emulatedAccelerator, "-cpu", emulatedProcessor, "-smp", emulatedProcessors, "-m", emulatedMemory,
		"-uuid", e.uuid(),
		"-kernel", e.image.Kernel(), "-initrd", e.image.Initrd(),
		"-append", "root=/dev/vda rw console=ttyS0 net.ifnames=0 " + emulatedKernelArgs + " systemd.hostname=" + e.name,
		// Data that the server has flushed is in the outer machine's page cache, which
		// survives the end of QEMU. All other data is lost in a power cut.
		"-drive", "file=" + e.path(diskFile) + ",if=virtio,format=qcow2,cache=unsafe",
		"-netdev", "tap,id=lan,ifname=" + e.name + ",script=no,downscript=no",
		"-device", "virtio-net-pci,netdev=lan,mac=" + mac(e.addr),
		"-device", "virtio-rng-pci",
		"-device", "qemu-xhci,id=usb",
		"-chardev", "file,id=console,append=on,path=" + e.path(consoleLog), "-serial", "chardev:console",
		"-qmp", "unix:" + e.path(monitorFile) + ",server=on,wait=off",
	}
	return append(argv, e.firmware()...)
}

// uuid is the same at every start and different for every machine: the system derives its
// machine ID from it.
func (e *Emulated) uuid() string {
	s := sha256.Sum256([]byte(e.dir))
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

func (e *Emulated) waitBooted(ctx context.Context) error {
	_, err := poll(ctx, "the machine to accept commands", func() (bool, error) {
		if pids, err := e.cgroup.pids(); err != nil || len(pids) == 0 {
			return false, errors.Join(err, errors.New("the machine switched itself off"))
		}
		return e.Exec(ctx, Cmd{Args: []string{"true"}}) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%s ends with: %s)", err, e.path(consoleLog), e.consoleTail())
	}
	return waitBooted(ctx, e)
}

// consoleTail returns the last 500 bytes that the machine printed on its console.
func (e *Emulated) consoleTail() string {
	data, _ := os.ReadFile(e.path(consoleLog)) // it does not exist before the first output
	tail := &tailWriter{max: 500}
	_, _ = tail.Write(data)
	return tail.String()
}

// Kill implements Machine. Data that the system has not flushed to its disk is lost.
func (e *Emulated) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if err := e.cgroup.kill(ctx); err != nil {
		return err
	}
	e.ssh.disconnect()
	return errors.Join(e.cgroup.delete(), e.network.unplug(ctx, e.name), remove(e.path(stickFile)))
}

// Close implements Machine.
func (e *Emulated) Close(ctx context.Context) error {
	if err := e.Kill(ctx); err != nil {
		return fmt.Errorf("close %s: %w", e.name, err)
	}
	return os.RemoveAll(e.dir)
}

// remove removes a file that may not exist.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
