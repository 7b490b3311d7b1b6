package nvml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

func TestReadSMI(t *testing.T) {
	outputs, err := filepath.Glob("testdata/smi/*.xml")
	if err != nil || len(outputs) == 0 {
		t.Fatal(outputs, err)
	}
	for _, path := range outputs {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		found, err := nvml.ReadSMI(f)
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		golden(t, strings.TrimSuffix(path, ".xml")+".json", found)
	}
}

// TestReadSMIWithoutCUDA covers the output of nvidia-smi 580 without libcuda.so.1.
func TestReadSMIWithoutCUDA(t *testing.T) {
	found, err := nvml.ReadSMI(strings.NewReader(strings.ReplaceAll(oneCard, "<attached", "<cuda_version>Not Found</cuda_version><attached")))
	if err != nil || found.CUDA != "" {
		t.Errorf("CUDA %q, %v", found.CUDA, err)
	}
}

func TestReadSMIRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "EOF",
		"No devices were found": "EOF",
		"<html></html>":         "expected element type <nvidia_smi_log>",
		"<nvidia_smi_log><gpu>": "unexpected EOF",
		"<nvidia_smi_log>" + strings.Repeat("<x>", 100):                              "nested more than 100 deep",
		"<nvidia_smi_log></nvidia_smi_log>":                                          `0 GPUs, but attached_gpus is ""`,
		strings.ReplaceAll(oneCard, ">1<", ">2<"):                                    `1 GPUs, but attached_gpus is "2"`,
		strings.ReplaceAll(oneCard, "580.82.07", "N/A"):                              "missing driver version",
		strings.ReplaceAll(oneCard, "00000000:17:00.0", "17"):                        `GPU 0: invalid PCI address "17"`,
		strings.ReplaceAll(oneCard, "NVIDIA L4", strings.Repeat("NVIDIA L4", 2<<20)): "more than 16 MiB",
	} {
		if found, err := nvml.ReadSMI(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q gives %v, %v", text, found, err)
		}
	}
}

// TestAddress checks that addresses match the host's PCI devices, with domains of any length.
func TestAddress(t *testing.T) {
	for id, want := range map[string]string{"00000000:AF:00.0": "0000:af:00.0", "00010000:E1:1F.7": "10000:e1:1f.7"} {
		found, err := nvml.ReadSMI(strings.NewReader(strings.ReplaceAll(oneCard, "00000000:17:00.0", id)))
		if err != nil {
			t.Fatal(err)
		}
		if d := (host.PCIDevice{Address: want}); found.GPUs[0].Address != d.Address {
			t.Errorf("%s is %s, want %s", id, found.GPUs[0].Address, want)
		}
	}
}
