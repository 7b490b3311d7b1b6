package gpu

import (
	"strings"
	"testing"
)

// described is a part of nvidia-ctk's output for two GPUs, the second in MIG mode with two instances.
const described = `cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  deviceNodes: [{path: /dev/nvidiactl}, {path: /dev/nvidia-uvm}]
devices:
  - name: "0"
    containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {path: /dev/dri/card1}]}
  - name: GPU-3f2b
    containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
  - name: "1:0"
    containerEdits: {deviceNodes: [{path: /dev/nvidia1}, {path: /dev/nvidia-caps/nvidia-cap12}]}
  - name: "1:1"
    containerEdits: {deviceNodes: [{path: /dev/nvidia1}, {path: /dev/nvidia-caps/nvidia-cap21}]}
  - name: all
    containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia1}]}
`

// withCards adds GPUs to the PCI bus: class and driver by address.
func withCards(t *testing.T, addresses ...string) (*machine, Setup) {
	m, s := newMachine(t)
	m.cards(t, addresses...)
	return m, s
}

func (m *machine) cards(t *testing.T, addresses ...string) {
	t.Helper()
	for _, address := range addresses {
		dir := "sys/bus/pci/devices/" + address + "/"
		m.put(t, dir+"vendor", "0x10de\n")
		m.put(t, dir+"device", "0x2335\n")
		m.put(t, dir+"class", "0x030200\n")
		m.put(t, dir+"uevent", "DRIVER=nvidia\n")
	}
}

func TestCDI(t *testing.T) {
	m, s := withCards(t, "0000:17:00.0", "0000:3d:00.0")
	m.does("systemctl restart "+CDIUnit, func() { m.put(t, CDIFile, described) })
	st := CDIStep(s)
	holds(t, st.Done, false)
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
	const ofPlugin, ofOthers = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json", "/var/run/cdi/other.json"
	m.put(t, ofPlugin, "{}")
	m.put(t, ofOthers, "{}")
	for range 2 {
		if err := st.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if m.enabled[CDIUnit] || m.has(CDIFile) || m.has(cdiUndo) || m.has(ofPlugin) || !m.has(ofOthers) {
		t.Error("after the undo files of airgap remain, or other files were removed")
	}
}

// TestCDIMissingGPU covers a GPU on the PCI bus that the driver does not support.
func TestCDIMissingGPU(t *testing.T) {
	m, s := withCards(t, "0000:17:00.0", "0000:3d:00.0", "0000:5a:00.0")
	m.put(t, CDIFile, described) // written by the toolkit's unit
	st := CDIStep(s)
	err := st.Run(t.Context())
	mustSay(t, err, "nvidia-smi -L", "has 2 of the 3 GPUs on the PCI bus: 3 × NVIDIA Hopper 10de:2335")
	m.says("dmesg", "[5.1] e1000: up\n[5.5] NVRM: The NVIDIA GPU 0000:5a:00.0 (PCI ID: 10de:2335)\n               NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n")
	mustSay(t, st.Run(t.Context()), "gpu.flavour: open", "2 of the 3 GPUs", "last kernel messages:\n[5.5] NVRM: The NVIDIA GPU 0000:5a:00.0")
	holds(t, st.Done, false)
	if err := st.Undo(t.Context()); err != nil || !m.has(CDIFile) {
		t.Errorf("%v; a file that existed before was removed", err)
	}
}

func TestCDIOfAnUnreadableBus(t *testing.T) {
	m, s := withCards(t, "0000:17:00.0")
	m.put(t, CDIFile, described)
	m.remove(t, "sys/bus/pci/devices/0000:17:00.0/class")
	if err := CDIStep(s).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "read PCI device 0000:17:00.0") {
		t.Errorf("got %v", err)
	}
}

// TestCDIWithoutGPU covers a host with a GPU that is reserved for virtual machines or was removed.
func TestCDIWithoutGPU(t *testing.T) {
	m, s := withCards(t, "0000:17:00.0")
	m.put(t, CDIFile, described)
	m.put(t, "sys/bus/pci/devices/0000:17:00.0/uevent", "DRIVER=vfio-pci\n")
	mustSay(t, CDIStep(s).Run(t.Context()), "role gpu", "the PCI bus has no GPU for containers")
}

func TestCDIUnitFails(t *testing.T) {
	m, s := withCards(t, "0000:17:00.0")
	m.fails("systemctl restart "+CDIUnit, "Job for "+CDIUnit+" failed")
	m.says("journalctl -u "+CDIUnit, "failed to initialize NVML: Driver/library version mismatch\n")
	mustSay(t, CDIStep(s).Run(t.Context()), "journalctl -u "+CDIUnit, "start "+CDIUnit, "version mismatch")
}

func TestUnitsKnowNothingNewerThanSystemd239(t *testing.T) {
	all, err := Units()
	if err != nil || len(all) != 3 {
		t.Fatalf("%d units, %v", len(all), err)
	}
	for name, text := range all {
		for _, newer := range []string{"ProtectHostname", "ProtectClock", "ProtectKernelLogs", "RestrictSUIDSGID", "ProtectProc", "ExecCondition", "Type=exec"} {
			if strings.Contains(string(text), newer) {
				t.Errorf("%s has %s, which EL8's systemd does not support", name, newer)
			}
		}
	}
}
