package report

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/verify/nodereport"
)

// TestCards: a host reports its GPUs.
func TestCards(t *testing.T) {
	card, passed := sitetest.H100("0000:17:00.0"), sitetest.H100("0000:3d:00.0")
	passed["sys/bus/pci/devices/0000:3d:00.0/uevent"] = &fstest.MapFile{Data: []byte("DRIVER=vfio-pci\n")}
	loaded := fstest.MapFS{"proc/driver/nvidia/version": {Data: []byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root@host)\n")}}
	built := fstest.MapFS{"lib/modules/5.14/modules.dep": {Data: []byte("kernel/a.ko.xz:\nextra/nvidia.ko.xz: kernel/a.ko.xz\n")}}
	other := fstest.MapFS{"lib/modules/5.14/modules.dep": {Data: []byte("extra/nvidia-uvm.ko.xz: extra/nvidia.ko.xz\nkernel/usb/nvidiafb.ko:\n")}}
	const said = `{"driver": "580.82.07", "cuda": "13.0", "cards": [
		{"index": 0, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1", "address": "0000:17:00.0",
			"temperature": 31, "slowdownTemperature": 87, "shutdownTemperature": 92, "powerDraw": 88400, "powerLimit": 700000, "memory": 85520809984,
			"mig": {"current": false, "pending": false}, "rows": {"corrected": 0, "uncorrected": 0, "pending": true, "failed": false}},
		{"index": 1, "lost": "GPU is lost"}]}`
	const fellOff = "1763856005.000001 g1 kernel: NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
	library := &nodereport.NVML{
		Driver: "580.82.07", CUDA: "13.0", Cards: 2,
		GPUs:     []nodereport.GPUDevice{{UUID: "GPU-1", Address: "0000:17:00.0", Celsius: 31, SlowsAt: 87, TurnsOffAt: 92, Watts: 88, WattsLimit: 700}, {Index: 1}},
		Products: []nodereport.Product{{Name: "NVIDIA H100 80GB HBM3", Cards: 1, Memory: 81559, MIG: true}},
		Faults:   []string{"GPU 0 (0000:17:00.0): memory rows are waiting for remapping until the GPU is reset", "GPU 1: does not answer: GPU is lost"},
	}
	wanted := &GPUSettings{Driver: "580.82.07", Cards: 2, TimeSlices: 4}
	want := &nodereport.ExpectedGPUs{Driver: "580.82.07", Count: 2}
	for name, test := range map[string]struct {
		files    fstest.MapFS
		says     string
		settings *GPUSettings
		log      string
		want     *nodereport.GPU
	}{
		"no card":              {sitetest.CardFiles(), "", nil, "", nil},
		"one for guests alone": {sitetest.CardFiles(passed), "", nil, "", nil},
		"gone, all of them":    {sitetest.CardFiles(), "", wanted, "", &nodereport.GPU{Want: want}},
		"no driver":            {sitetest.CardFiles(card, passed), "", nil, "", &nodereport.GPU{Bus: 1}},
		"of another kernel":    {sitetest.CardFiles(card, other), "", wanted, "", &nodereport.GPU{Bus: 1, Want: want}},
		"not loaded":           {sitetest.CardFiles(card, built), "", wanted, "", &nodereport.GPU{Bus: 1, Module: true, Want: want}},
		"another library": {
			sitetest.CardFiles(card, built, loaded),
			"",
			nil,
			fellOff,
			&nodereport.GPU{Bus: 1, Driver: "580.82.07", Module: true, NVML: &nodereport.NVML{Error: "ask NVML: " + nvml.ErrMismatch.Error(), Faults: []string{"0000:17:00.0: Xid 79 at 2025-11-23T00:00:05Z"}}},
		},
		"a log that nobody can read": {
			sitetest.CardFiles(card, built, loaded),
			"",
			nil,
			sitetest.Unreadable,
			&nodereport.GPU{
				Bus:    1,
				Driver: "580.82.07",
				Module: true,
				NVML:   &nodereport.NVML{Error: "ask NVML: " + nvml.ErrMismatch.Error(), Faults: []string{"Xid events are not known: read the kernel's log: no journal"}},
			},
		},
		"the site's own driver": {sitetest.CardFiles(card, built, loaded), said, nil, "", &nodereport.GPU{Bus: 1, Driver: "580.82.07", Module: true, NVML: library}},
		"set up": {
			sitetest.CardFiles(card, built, loaded),
			said,
			wanted,
			"",
			&nodereport.GPU{Bus: 1, Driver: "580.82.07", Module: true, NVML: library, Want: want, Offers: []nodereport.Offer{{Resource: "nvidia.com/gpu", Count: 8}}},
		},
	} {
		if got, err := test.settings.ask(t.Context(), sitetest.CardHost{MapFS: test.files, Says: test.says, Log: test.log}); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, test.want)
		}
	}
}

// TestCardsUnread: if a GPU leaves the bus during the check, the report says that the GPUs are
// unknown, which verify reports (rule node-reports), and not that they are healthy.
func TestCardsUnread(t *testing.T) {
	for name, settings := range map[string]*GPUSettings{"set up": {Driver: "580.82.07", Cards: 1}, "nobody's": nil} {
		m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.CardHost{MapFS: sitetest.PCITree(t, "unreadable", "")}}}}
		parts := slices.DeleteFunc(Settings{GPU: settings}.parts(m), func(p nodereport.Part) bool { return p.Name != "gpu" })
		r := (&nodereport.Collector{Parts: parts}).Once(t.Context())
		if r.GPU != nil || len(r.Unknown) != 1 || r.Unknown[0].Part != "gpu" || !strings.Contains(r.Unknown[0].Reason, "read PCI device 0000:af:00.0") {
			t.Errorf("%s: %+v, unknown %+v", name, r.GPU, r.Unknown)
		}
	}
}

// TestOffers: MIG instances count as GPUs, or as separate resources.
func TestOffers(t *testing.T) {
	recorded, err := os.ReadFile("../../gpu/nvml/testdata/hosts/a100-mig.json")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(recorded), `"report": `)
	said, err := nvml.Read(strings.NewReader(strings.TrimSuffix(strings.TrimSpace(text), "}")))
	if err != nil {
		t.Fatal(err)
	}
	unnamed := *said
	unnamed.GPUs = []nvml.GPU{{MIG: &nvml.MIG{Mode: nvml.Mode{Current: true}, Instances: []nvml.Instance{{}}}}}
	type offers = []nodereport.Offer
	for name, test := range map[string]struct {
		settings *GPUSettings
		said     *nvml.Report
		want     offers
	}{
		"nobody's":    {nil, said, nil},
		"whole cards": {&GPUSettings{}, said, offers{{Resource: "nvidia.com/gpu", Count: 8}}},
		"slices":      {&GPUSettings{TimeSlices: 3, MIG: "none"}, said, offers{{Resource: "nvidia.com/gpu", Count: 24}}},
		"single":      {&GPUSettings{MIG: "single"}, said, offers{{Resource: "nvidia.com/gpu", Count: 14}}},
		"mixed": {
			&GPUSettings{MIG: "mixed"},
			said,
			offers{{Resource: "nvidia.com/gpu", Count: 5}, {Resource: "nvidia.com/mig-1g.10gb", Count: 7}, {Resource: "nvidia.com/mig-3g.40gb", Count: 2}},
		},
		"mixed, by no name": {&GPUSettings{MIG: "mixed"}, &unnamed, nil},
	} {
		if got := test.settings.offers(test.said); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
	if got := partResource(nvml.Instance{Name: "NVIDIA H100 MIG 1g.10gb+me"}); got != "nvidia.com/mig-1g.10gb.me" {
		t.Error(got)
	}
}
