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

// An Emulated is a Machine made by QEMU: a processor, a kernel, a disk and a
// USB port of its own, so that it can show what a Container cannot. Commands
// reach it through SSH, as they would a real server.
type Emulated struct {
	name    string
	addr    netip.Addr
	dir     string // of this server alone: its disk, its keys, its console
	image   root.Image
	hosts   string // /etc/hosts
	network Network
	cgroup  cgroup // QEMU's, on the outer machine
	ssh     *sshHost
}

const (
	emulatedBootTimeout = 10 * time.Minute
	emulatedProcessors  = "2"
	// What every x86-64-v2 processor has, and no more: with AES and AVX programs
	// take ways that are faster on a real processor and slower on an emulated
	// one (ChaCha20 and SHA-256 with AVX2 take 2 and 1.3 times as long).
	emulatedProcessor = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt"
	// QEMU translates code once for each address it runs at; the default buffer
	// (1 GiB) is full, and thrown away, every minute of a cluster at work.
	emulatedAccelerator = "tcg,thread=multi,tb-size=2048"
	// With libraries at the same address in every process QEMU has translated
	// them already: starting one takes a quarter of the time. And the processor's
	// clock is reliable, all of it is the outer machine's: the kernel doubts it
	// and asks the HPET instead, one processor at a time and fifteen times slower,
	// whenever a program wants to know the time. Nor is its timer broken when the
	// outer machine, busy elsewhere, lets no tick through while the kernel looks:
	// it panics otherwise.
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

// insertDisk makes a disk that holds what differs from the image. One that has
// been used already stays as it is.
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

// powerOn starts QEMU, which goes into the background once everything it was
// asked for is in order.
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
		// What the server flushes has reached the outer machine's page cache,
		// which outlives QEMU; what it has not is lost in a power cut.
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

// uuid is the same at every start, and another one for every machine: the
// system takes its machine ID from it.
func (e *Emulated) uuid() string {
	s := sha256.Sum256([]byte(e.dir))
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

func (e *Emulated) waitBooted(ctx context.Context) error {
	_, err := poll(ctx, "it to take commands", func() (bool, error) {
		if pids, err := e.cgroup.pids(); err != nil || len(pids) == 0 {
			return false, errors.Join(err, errors.New("it switched itself off"))
		}
		return e.Exec(ctx, Cmd{Args: []string{"true"}}) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%s ends with: %s)", err, e.path(consoleLog), e.lastWords())
	}
	return waitBooted(ctx, e)
}

// lastWords is the end of what the machine printed on its console.
func (e *Emulated) lastWords() string {
	data, _ := os.ReadFile(e.path(consoleLog)) // there is none before it prints
	tail := &tailWriter{max: 500}
	_, _ = tail.Write(data)
	return tail.String()
}

// Kill implements Machine. What the system has not flushed to its disk is
// lost.
func (e *Emulated) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if err := e.cgroup.kill(ctx); err != nil {
		return err
	}
	e.ssh.hangUp()
	return errors.Join(e.cgroup.delete(), e.network.unplug(ctx, e.name), remove(e.path(stickFile)))
}

// Close implements Machine.
func (e *Emulated) Close(ctx context.Context) error {
	if err := e.Kill(ctx); err != nil {
		return fmt.Errorf("close %s: %w", e.name, err)
	}
	return os.RemoveAll(e.dir)
}

// remove removes a file that need not be there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
