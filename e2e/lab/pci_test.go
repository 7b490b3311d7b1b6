package lab

import "testing"

// TestCards wants the bus that a kernel would show, a place for a driver's files that a
// power cut empties, and nouveau on the cards it knows until somebody forbids it.
func TestCards(t *testing.T) {
	l := boot(t, "t-cards", KindHopper, KindVolta)
	hopper, volta := l.Machines[0], l.Machines[1]
	wants := func(m Machine, want, script string) {
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
	wants(hopper, "0x10de 0x10de 0x10de 0x102b 0x22a3 0x2330 0x2330 0x0536 ", bus)
	wants(hopper, "", "mkdir /proc/driver/nvidia && echo 1 >/proc/driver/nvidia/version")
	wants(hopper, "", "rm -r "+pciDir+"/0000:3d:00.0")
	restart(hopper)
	wants(hopper, "0x10de 0x10de 0x102b 0x22a3 0x2330 0x0536 ", bus)
	wants(hopper, "", "ls /proc/driver")

	wants(volta, "DRIVER=nouveau DRIVER=nouveau ", driver)
	wants(volta, "", "echo blacklist nouveau >/etc/modprobe.d/site.conf")
	wants(volta, "DRIVER=nouveau DRIVER=nouveau ", driver)
	restart(volta)
	wants(volta, "", driver)
}
