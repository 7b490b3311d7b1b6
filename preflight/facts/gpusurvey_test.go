package facts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/gpu/nvml"
)

// TestOlderFacts reads facts of an older release, with four fields per GPU and no index.
func TestOlderFacts(t *testing.T) {
	f, err := ReadFacts(strings.NewReader(`schema: 1
host: g1
nvml:
  driver: 580.82.07
  cuda: "13.0"
  cards:
    - {address: "0000:17:00.0", name: NVIDIA H100, uuid: GPU-1, memory: 85520809984}
    - {}
`))
	memory := int64(85520809984)
	want := &nvml.Report{Driver: "580.82.07", CUDA: "13.0", GPUs: []nvml.GPU{{Address: "0000:17:00.0", Name: "NVIDIA H100", UUID: "GPU-1", Memory: &memory}, {}}}
	if err != nil || !reflect.DeepEqual(f.NVML, want) {
		t.Errorf("got %+v, %v", f, err)
	}
}

// TestSurveyScriptGPUs runs the script on a tree with a driver and with fake programs. The survey
// has the data of nvidia-smi and the log about the GPUs, but no serial numbers and processes.
func TestSurveyScriptGPUs(t *testing.T) {
	const text = "../../gpu/nvml/testdata/smi/h100-v13.xml"
	root, bin := t.TempDir(), t.TempDir()
	xml, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	used := "<processes>\n<process_info>\n<pid>4711</pid>\n<process_name>train</process_name>\n</process_info>\n</processes>\n</gpu>"
	log := "1763856002.000001 g1 kernel: usb 1-1: new device\n1763856005.000001 g1 kernel: NVRM: Xid (PCI:0000:2A:00): 48, pid=4711, name=train, DBE\n"
	for path, content := range map[string]string{
		root + "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\n",
		bin + "/xml":                         strings.ReplaceAll(string(xml), "</gpu>", used),
		bin + "/log":                         log,
		bin + "/nvidia-smi":                  "#!/bin/sh\n[ \"$*\" = '-q -x' ] && exec cat " + bin + "/xml\n",
		bin + "/journalctl":                  "#!/bin/sh\nexec cat " + bin + "/log\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := SurveyScript()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", strings.Replace(string(script), "\ncd / ", "\ncd "+root+" ", 1))
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	survey, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadSurvey(t.Context(), bytes.NewReader(survey))
	if err != nil {
		t.Fatal(err)
	}
	want, err := nvml.ReadSMI(bytes.NewReader(xml))
	if err != nil {
		t.Fatal(err)
	}
	if want = withoutSerials(want); !reflect.DeepEqual(f.NVML, want) {
		t.Errorf("got %+v, want %+v", f.NVML, want)
	}
	if xids := []nvml.Logged{{Address: "0000:2a:00.0", Number: 48, Times: 1, Last: time.Unix(1763856005, 0).UTC()}}; !reflect.DeepEqual(f.Xids, xids) {
		t.Errorf("got %+v, want %+v", f.Xids, xids)
	}
	for _, secret := range []string{"1652923000001", "train", "4711"} {
		if bytes.Contains(survey, []byte(secret)) {
			t.Errorf("the survey has %q", secret)
		}
	}
}
