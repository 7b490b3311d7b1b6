package lab

import "testing"

// TestPCIDevices checks the devices in /sys/bus/pci, that a power cut removes a driver's
// files from /proc/driver, and that nouveau uses its GPUs until it is on the blacklist.
func TestPCIDevices(t *testing.T) {
	l := boot(t, "t-pci", KindHopper, KindVolta)
	hopper, volta := l.Machines[0], l.Machines[1]
	check := func(m Machine, want, script string) {
		t.Helper()
		if got, err := Output(t.Context(), m, "sh", "-c", script); err != nil || got != want {
			t.Errorf("%s: %s: got %q, %v; want %q", m.Name(), script, got, err, want)
		}
	}
	restart := func(m Machine) {
		t.Helper()
		if err := m.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const (
		bus    = "cd /sys/bus/pci/devices && cat */vendor */device | tr '\\n' ' '"
		driver = "grep -h DRIVER /sys/bus/pci/devices/*/uevent | tr '\\n' ' '"
	)
	check(hopper, "0x10de 0x10de 0x10de 0x102b 0x22a3 0x2330 0x2330 0x0536 ", bus)
	check(hopper, "", "mkdir /proc/driver/nvidia && echo 1 >/proc/driver/nvidia/version")
	check(hopper, "", "rm -r "+pciDir+"/0000:3d:00.0")
	restart(hopper)
	check(hopper, "0x10de 0x10de 0x102b 0x22a3 0x2330 0x0536 ", bus)
	check(hopper, "", "ls /proc/driver")

	check(volta, "DRIVER=nouveau DRIVER=nouveau ", driver)
	check(volta, "", "echo blacklist nouveau >/etc/modprobe.d/site.conf")
	check(volta, "DRIVER=nouveau DRIVER=nouveau ", driver)
	restart(volta)
	check(volta, "", driver)
}
