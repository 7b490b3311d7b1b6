package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	open580   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (dvs-builder@U22)  Wed Aug 27 2025\n"
	closed535 = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
	nvidiaDep = "extra/nvidia.ko.xz:\nextra/nvidia-uvm.ko.xz: extra/nvidia.ko.xz\n"
	runs      = "5.14.0-1.el9.x86_64"
)

// withDriver returns a host with driver 580 (open) for the running kernel. modprobe loads it.
func withDriver(t *testing.T) (*machine, Setup) {
	m, s := newMachine(t)
	s.Driver = Choice{580, Open}
	m.put(t, "lib/modules/"+runs+"/modules.dep", nvidiaDep)
	m.put(t, "usr/lib64/libnvidia-ml.so.580.82.07", "")
	m.put(t, "usr/lib64/libnvidia-ml.so.1", "")
	m.put(t, "usr/lib/systemd/system/"+PersistenceUnit, "")
	m.does("modprobe nvidia", func() { m.put(t, "sys/module/nvidia/refcnt", "1"); m.put(t, driverFile, open580) })
	m.does("modprobe nvidia_uvm", func() { m.put(t, "sys/module/nvidia_uvm/refcnt", "0") })
	return m, s
}

func TestDriverIsLoaded(t *testing.T) {
	m, s := withDriver(t)
	s.Version, s.Fabric = "580.82.07", true
	st := DriverStep(s)
	holds(t, st.Done, false)
	if plan, err := st.Plan(t.Context()); err != nil ||
		!slices.Equal(plan, []string{"write " + s.path(modulesFile) + " (new)", "load kernel modules nvidia, nvidia_uvm", "enable and start " + PersistenceUnit, "enable and start " + FabricUnit}) {
		t.Errorf("plan %q, %v", plan, err)
	}
	m.put(t, "usr/lib/systemd/system/"+FabricUnit, "")
	m.enabled[PersistenceUnit] = true // by the preset of its package
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
	m.active[FabricUnit] = false
	holds(t, st.Done, false)
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := DriverStep(Setup{Host: m, Root: m.root}).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !m.enabled[PersistenceUnit] || m.active[PersistenceUnit] || m.enabled[FabricUnit] || m.active[FabricUnit] || m.has(modulesFile) || m.has(unitsUndo) {
		t.Errorf("after the undo: enabled %v, active %v", m.enabled, m.active)
	}
}

// TestPersistence checks that airgap's unit starts a daemon of NVIDIA's installer, which has no unit. It
// does not start a daemon that has a unit of a package, or if the site installs the driver.
func TestPersistence(t *testing.T) {
	const theirs = "usr/lib/systemd/system/" + PersistenceUnit
	for _, test := range []struct {
		name string
		host func(t *testing.T, m *machine, s *Setup)
		want []string
	}{
		{"NVIDIA's installer", func(t *testing.T, m *machine, _ *Setup) { m.remove(t, theirs) }, []string{OwnPersistenceUnit}},
		{"a package", func(*testing.T, *machine, *Setup) {}, []string{PersistenceUnit}},
		{"a unit of the site's", func(t *testing.T, m *machine, _ *Setup) {
			m.remove(t, theirs)
			m.put(t, "etc/systemd/system/"+PersistenceUnit, "")
		}, []string{PersistenceUnit}},
		{"a driver of the site's", func(t *testing.T, m *machine, s *Setup) { m.remove(t, theirs); s.Driver = Choice{} }, nil},
		{"no daemon", func(t *testing.T, m *machine, _ *Setup) { m.remove(t, theirs); m.remove(t, persistenceDaemon) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s := withDriver(t)
			m.put(t, persistenceDaemon, "")
			m.put(t, "usr/lib/systemd/system/"+OwnPersistenceUnit, "")
			test.host(t, m, &s)
			st := DriverStep(s)
			if err := st.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			holds(t, st.Done, true)
			if got := m.running(); !slices.Equal(got, test.want) {
				t.Errorf("%v run, want %v", got, test.want)
			}
			if err := DriverStep(Setup{Host: m, Root: m.root}).Undo(t.Context()); err != nil || len(m.running()) > 0 || m.has(unitsUndo) {
				t.Errorf("undo: %v; %v run", err, m.running())
			}
		})
	}
}

// TestPersistenceUnit checks that the unit does not start if another unit starts the daemon.
func TestPersistenceUnit(t *testing.T) {
	all, err := Units()
	if err != nil {
		t.Fatal(err)
	}
	text := string(all[OwnPersistenceUnit])
	for _, line := range []string{"ExecStart=/" + persistenceDaemon, "ConditionPathExists=!/usr/lib/systemd/system/" + PersistenceUnit, "ConditionPathExists=!/etc/systemd/system/" + PersistenceUnit} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("missing line %s", line)
		}
	}
	for _, later := range []string{CDIUnit, MIGUnit} {
		if !strings.Contains(string(all[later]), OwnPersistenceUnit) {
			t.Errorf("%s does not start after it", later)
		}
	}
}

// TestDriverUndoneAfterItsPackage checks that undo does not stop a unit that no longer exists.
func TestDriverUndoneAfterItsPackage(t *testing.T) {
	m, s := withDriver(t)
	if err := DriverStep(s).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.remove(t, "usr/lib/systemd/system/"+PersistenceUnit)
	m.fails("systemctl stop", "Unit "+PersistenceUnit+" not loaded.")
	if err := DriverStep(s).Undo(t.Context()); err != nil || m.has(unitsUndo) {
		t.Errorf("%v; the record exists: %t", err, m.has(unitsUndo))
	}
}

// TestDriverOfTheSite checks that any driver of the site is accepted.
func TestDriverOfTheSite(t *testing.T) {
	m, s := withDriver(t)
	s.Driver = Choice{}
	if err := DriverStep(s).Run(t.Context()); err != nil {
		t.Error(err)
	}
	m.put(t, driverFile, closed535)
	holds(t, DriverStep(s).Done, false)
}

// TestDriverCannotBeUsed checks that each cause has its own error.
func TestDriverCannotBeUsed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		host   func(t *testing.T, m *machine, s *Setup)
		words  []string
		advice string
	}{
		{"kernel updated since", func(t *testing.T, m *machine, _ *Setup) {
			m.put(t, "lib/modules/"+runs+"/modules.dep", "kernel/fs/ext4/ext4.ko.xz:\n")
			m.put(t, "lib/modules/5.14.0-0.el9.x86_64/modules.dep", nvidiaDep)
			m.fails("modprobe nvidia", "modprobe: FATAL: Module nvidia not found")
			m.says("dkms status", "nvidia/580.82.07, 5.14.0-0.el9.x86_64, x86_64: installed\n")
		}, []string{"the module does not exist for the running kernel " + runs + "; it exists for 5.14.0-0.el9.x86_64", "dkms status: nvidia/580.82.07, 5.14.0-0.el9"}, "kernel-devel-" + runs},
		{"no kernel has it", func(t *testing.T, m *machine, _ *Setup) {
			m.remove(t, "lib/modules/"+runs)
			m.fails("modprobe nvidia", "modprobe: FATAL: Module nvidia not found")
			m.fails("dkms", "not found")
		}, []string{"no installed kernel has it"}, "a new bundle"},
		{"Secure Boot", func(_ *testing.T, m *machine, _ *Setup) {
			m.fails("modprobe nvidia", "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service")
			m.says("dmesg", "[1.0] e1000: up\n[9.1] nvidia: module with unavailable key is rejected\n")
		}, []string{"Key was rejected by service", "last kernel messages:\n[9.1] nvidia: module with unavailable key"}, "mokutil --import"},
		{"GPU removed", func(_ *testing.T, m *machine, _ *Setup) {
			m.fails("modprobe nvidia", "modprobe: ERROR: could not insert 'nvidia': No such device")
			m.says("dmesg", "[9.1] nvidia: loading out-of-tree module taints kernel.\n[9.2] NVRM: No NVIDIA GPU found.\n[9.3] e1000: up\n")
		}, []string{"No such device", "[9.2] NVRM: No NVIDIA GPU found."}, "lspci -k -d 10de:"},
		{"GPU that the branch no longer supports", func(_ *testing.T, m *machine, _ *Setup) {
			m.fails("modprobe nvidia", "modprobe: ERROR: could not insert 'nvidia': No such device")
			m.says(
				"dmesg",
				"[9.1] NVRM: The NVIDIA GPU 0000:17:00.0 (PCI ID: 10de:1db6)\n"+
					"               NVRM: installed in this system is supported through the NVIDIA 580.xx Legacy drivers.\n[9.2] NVRM: No NVIDIA GPU found.\n",
			)
		}, []string{"10de:1db6", "580.xx Legacy drivers"}, "gpu.branch: 580"},
		{"module for another kernel", func(_ *testing.T, m *machine, _ *Setup) {
			m.fails("modprobe nvidia", "modprobe: ERROR: could not insert 'nvidia': Unknown symbol in module")
			m.fails("dmesg", "Operation not permitted")
		}, []string{"Unknown symbol in module"}, "dkms install"},
		{"module older than the library", func(t *testing.T, m *machine, _ *Setup) {
			m.put(t, "sys/module/nvidia/refcnt", "1")
			m.put(t, driverFile, closed535)
		}, []string{"requires a reboot: the loaded module of NVIDIA's driver is 535.104.05, but 580.82.07 is installed"}, "then run the same command again"},
		{"library of another driver", func(t *testing.T, m *machine, s *Setup) {
			s.Version = "580.82.07"
			m.remove(t, "usr/lib64/libnvidia-ml.so.580.82.07")
			m.put(t, "usr/lib64/libnvidia-ml.so.535.104.05", "")
		}, []string{"this host has two versions: library 535.104.05, module 580.82.07"}, "rpm -qf /usr/lib64/libnvidia-ml.so.535.104.05"},
		{"libraries of two drivers", func(t *testing.T, m *machine, _ *Setup) {
			m.put(t, "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05", "")
		}, []string{"library 535.104.05 and 580.82.07, module 580.82.07"}, "nvidia-uninstall"},
		{"no library", func(t *testing.T, m *machine, _ *Setup) { m.remove(t, "usr/lib64") }, []string{"libnvidia-ml.so does not exist"}, "nvidia-driver-cuda"},
		{"another flavour", func(_ *testing.T, _ *machine, s *Setup) { s.Driver.Flavour = Proprietary },
			[]string{"580.82.07 (open) is loaded, but 580 (proprietary) is required"}, "gpu.source: host"},
		{"another branch", func(_ *testing.T, _ *machine, s *Setup) { s.Driver.Branch = 595 }, []string{"580.82.07 (open) is loaded, but 595 (open) is required"}, "reboot"},
		{"fabric manager of another version", func(_ *testing.T, m *machine, s *Setup) {
			s.Fabric = true
			m.fails("systemctl enable --now "+FabricUnit, "Job failed")
			m.says("journalctl -u "+FabricUnit, "fabric manager interface version 580.65.06 don't match with driver version 580.82.07\n")
		}, []string{"start " + FabricUnit, "version 580.65.06 don't match"}, "exactly the driver's version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, s := withDriver(t)
			tt.host(t, m, &s)
			st := DriverStep(s)
			err := st.Run(t.Context())
			mustSay(t, err, tt.advice, tt.words...)
			if failed, is := errors.AsType[*Failure](err); is && failed.What == "" {
				t.Error("the error does not name the failed command")
			}
			holds(t, st.Done, false)
		})
	}
}
