package gpustatus

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/gpu/nvml/nvmltest"
	"airgap.dev/airgap/internal/advice"
)

const (
	closed535 = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
	open580   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root@host)\n"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGPUStatus: the output for hosts, through the real helper and a
// stub of the library. go test -update writes testdata/gpu.
func TestGPUStatus(t *testing.T) {
	b := nvmltest.Build(t)
	for name, test := range map[string]struct {
		tree, driver, stub string
		watch              time.Duration
	}{
		"well":       {"hgx-a100", closed535, "a100", 0},
		"memory":     {"hgx-a100", closed535, "a100-memory", 0},
		"parts":      {"hgx-a100", closed535, "a100-mig", 0},
		"heat":       {"hgx-h200", open580, "h200-heat", 0},
		"xid":        {"hgx-a100", closed535, "a100-xid", time.Hour}, // the stub knows when the last one was
		"disagree":   {"v100-and-a100", open580, "a100", 0},
		"quiet time": {"hgx-a100", closed535, "a100", time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			m := nvmltest.Machine{Built: b, Library: b.Library, Stub: "../../gpu/nvml/testdata/hosts/" + test.stub + ".stub", Files: sitetest.PCITree(t, test.tree, test.driver)}
			if name == "memory" {
				m.Log = "1763856002.000001 g1 kernel: NVRM: Xid (PCI:0000:4e:00): 63, pid='<unknown>', name=<unknown>, Row Remapper\n"
			}
			st, err := Read(t.Context(), m, test.watch)
			if err != nil {
				t.Fatal(err)
			}
			compareGPUs(t, name, st)
		})
	}
	t.Run("errors", func(t *testing.T) { noGPUStatus(t, b) })
}

func compareGPUs(t *testing.T, name string, st *Status) {
	t.Helper()
	var got bytes.Buffer
	if err := st.Write(&got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata/gpu", strings.ReplaceAll(name, " ", "-")+".txt")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: go test -update writes\n%s", file, &got)
	}
}

// noGPUStatus: each reason is reported with the next step, and earlier findings are
// shown.
func noGPUStatus(t *testing.T, b nvmltest.Built) {
	built := fstest.MapFS{"lib/modules/5.14/modules.dep": {Data: []byte("extra/nvidia.ko.xz:\n")}}
	notLoaded := sitetest.PCITree(t, "hgx-a100", "")
	maps.Copy(notLoaded, built)
	guests := sitetest.CardFiles(sitetest.H100("0000:17:00.0"))
	guests["sys/bus/pci/devices/0000:17:00.0/uevent"] = &fstest.MapFile{Data: []byte("DRIVER=vfio-pci\n")}
	const boot = "usb 1-1: new device\nnvidia: loading out-of-tree module taints kernel.\n[2.1] nvidia: Unknown symbol drm_gem_object_free (err -2)\neth0: up\n"
	stub := func(text string) string {
		file := filepath.Join(t.TempDir(), "stub")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if _, err := Read(t.Context(), sitetest.CardHost{MapFS: notLoaded}, 0); err == nil || err.Error() != "ask NVML: "+nvml.ErrNoDriver.Error() || advice.Of(err) != "" {
		t.Errorf("a user without access to the kernel log: %v", err)
	}
	for name, test := range map[string]struct {
		files         fs.FS
		library, stub string
		shows         bool
		want          string // said, or advised
	}{
		"no card":        {sitetest.PCITree(t, "amd", ""), "", "", false, "none from NVIDIA on the PCI bus|lspci -d 10de:"},
		"for guests":     {guests, "", "", false, "none that containers can use, but 1 × NVIDIA Hopper 10de:2330 (passed through by vfio-pci)|no driverctl override"},
		"unreadable":     {sitetest.PCITree(t, "unreadable", ""), "", "", false, "read PCI device 0000:af:00.0|lspci -d 10de: -vv"},
		"another kernel": {sitetest.PCITree(t, "hgx-a100", ""), "", "", true, "the running kernel 5.14 has no NVIDIA module|dkms status"},
		"not loaded": {notLoaded, "", "", true, nvml.ErrNoDriver.Error() + "|last kernel messages:\n" +
			"nvidia: loading out-of-tree module taints kernel.\n[2.1] nvidia: Unknown symbol drm_gem_object_free (err -2)|build it again (dkms install)"},
		"no library":         {sitetest.PCITree(t, "hgx-a100", closed535), t.TempDir(), stub(""), true, nvml.ErrNoLibrary.Error()},
		"another library":    {sitetest.PCITree(t, "hgx-a100", closed535), b.Library, stub("init !18\n"), true, nvml.ErrMismatch.Error()},
		"a driver's trouble": {sitetest.PCITree(t, "hgx-a100", closed535), b.Library, stub("init !4\n"), true, "start NVIDIA's library: Insufficient Permissions"},
	} {
		st, err := Read(t.Context(), nvmltest.Machine{Built: b, Library: test.library, Stub: test.stub, Files: test.files, Boot: boot}, 0)
		if err == nil || (st != nil) != test.shows {
			t.Errorf("%s: %+v, %v", name, st, err)
			continue
		}
		for part := range strings.SplitSeq(test.want, "|") {
			if said := err.Error() + "\n" + advice.Of(err); !strings.Contains(said, part) {
				t.Errorf("%s: %q does not say %q", name, said, part)
			}
		}
		if test.shows && (st.NVML != nil || st.Write(io.Discard) != nil) {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestGPUStatusForPrograms: the same in JSON, read back.
func TestGPUStatusForPrograms(t *testing.T) {
	built := fstest.MapFS{"proc/driver/nvidia/version": {Data: []byte(open580)}}
	h := sitetest.CardHost{MapFS: sitetest.CardFiles(sitetest.H100("0000:17:00.0"), built), Says: `{"driver": "580.82.07", "cards": [{"index": 0, "address": "0000:17:00.0"}]}`}
	st, err := Read(t.Context(), h, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(st)
	want := `{"bus":[{"address":"0000:17:00.0","name":"NVIDIA Hopper 10de:2330","kind":"GPU"}],"driver":"580.82.07 (open)","nvml":{"driver":"580.82.07","cards":[{"index":0,"address":"0000:17:00.0"}]}}`
	if err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
	if _, err := Read(t.Context(), sitetest.CardHost{MapFS: h.MapFS}, time.Second); !errors.Is(err, nvml.ErrMismatch) {
		t.Errorf("listening to a library of another version: %v", err)
	}
}
