package report

import (
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/nodereport"
)

// GPUSettings are how the cards of a node with the role gpu were set up.
type GPUSettings struct {
	Driver     string `json:"driver,omitempty"`     // locked version; "": the site installs its own
	Cards      int    `json:"cards,omitempty"`      // expected number; 0: not counted
	TimeSlices int    `json:"timeSlices,omitempty"` // of each GPU or MIG instance; 0: none
	MIG        string `json:"mig,omitempty"`        // the device plugin's strategy: "single", "mixed"; "" is none
}

// ask is nil on a host without any, unless it should have some.
func (s *GPUSettings) ask(ctx context.Context, h host.Host) (*nodereport.GPU, error) {
	here, found := gpu.Setup{Host: h}, &nodereport.GPU{}
	bus, err := here.FreeGPUs()
	if err != nil || len(bus) == 0 && s == nil {
		return nil, err
	}
	found.Bus = len(bus)
	driver, err := here.Loaded()
	if err != nil {
		return nil, err
	}
	if found.Module, err = here.HasModule(); err != nil {
		return nil, err
	}
	if s != nil {
		found.Want = &nodereport.ExpectedGPUs{Driver: s.Driver, Count: s.Cards}
	}
	if driver == (gpu.Driver{}) {
		return found, nil // NVML asks the driver
	}
	found.Driver = driver.Version
	said, err := nvml.Query(ctx, h)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	found.NVML, found.Offers = nvmlReport(said, err), s.offers(said)
	found.NVML.Faults = append(found.NVML.Faults, LoggedFaults(ctx, h)...)
	return found, ctx.Err()
}

// LoggedFaults includes an unreadable log as a fault, so that other data about the GPUs
// stays.
func LoggedFaults(ctx context.Context, h host.Host) []string {
	logged, err := nvml.ReadLog(ctx, h, nvml.XidAge)
	if err != nil {
		return []string{"Xid events are not known: " + err.Error()}
	}
	var all []string
	for _, x := range logged {
		all = append(all, x.String())
	}
	return all
}

func nvmlReport(said *nvml.Report, err error) *nodereport.NVML {
	if err != nil {
		return &nodereport.NVML{Error: err.Error()}
	}
	return &nodereport.NVML{Driver: said.Driver, CUDA: said.CUDA, Cards: len(said.GPUs), GPUs: eachCard(said), Products: products(said), Faults: said.Faults()}
}

func eachCard(r *nvml.Report) []nodereport.GPUDevice {
	var all []nodereport.GPUDevice
	for _, c := range r.GPUs {
		all = append(all, nodereport.GPUDevice{
			Index: c.Index, UUID: c.UUID, Address: c.Address,
			Celsius: told(c.Temperature), SlowsAt: told(c.SlowdownTemperature), TurnsOffAt: told(c.ShutdownTemperature),
			Watts: Watts(told(c.PowerDraw)), WattsLimit: Watts(told(c.PowerLimit)),
		})
	}
	return all
}

// told is 0 for a value that a GPU does not report.
func told(v *int) int {
	if v == nil {
		return 0
	}
	return *v
}

// products counts cards that answer.
func products(r *nvml.Report) []nodereport.Product {
	var all []nodereport.Product
	for _, c := range r.GPUs {
		if c.Lost != "" || c.Name == "" {
			continue
		}
		one := nodereport.Product{Name: c.Name, MIG: c.MIG != nil}
		if c.Memory != nil {
			one.Memory = int(*c.Memory >> 20)
		}
		same := func(p nodereport.Product) bool { p.Cards = 0; return p == one }
		i := slices.IndexFunc(all, same)
		if i < 0 {
			i = len(all)
			all = append(all, one)
		}
		all[i].Cards++
	}
	return all
}

const gpuResource = "nvidia.com/gpu"

// offers returns the resources that the device plugin offers for the GPUs, according to its README.md
// (NVIDIA/k8s-device-plugin, "Shared Access to GPUs", MIG_STRATEGY): with the
// strategy single, MIG instances count as GPUs; with mixed each profile is a
// resource. It is nil if unknown: nvidia-smi gives MIG instances no names.
func (s *GPUSettings) offers(r *nvml.Report) []nodereport.Offer {
	if s == nil || r == nil {
		return nil
	}
	count := map[string]int{}
	for _, c := range r.GPUs {
		if s.MIG == "" || s.MIG == "none" || c.MIG == nil || !c.MIG.Current {
			count[gpuResource]++
			continue
		}
		for _, part := range c.MIG.Instances {
			name := gpuResource
			if s.MIG == "mixed" {
				if name = partResource(part); name == "" {
					return nil
				}
			}
			count[name]++
		}
	}
	var all []nodereport.Offer
	for name, n := range count {
		if name == gpuResource { // the plugin's configuration shares no other
			n *= max(s.TimeSlices, 1)
		}
		all = append(all, nodereport.Offer{Resource: name, Count: n})
	}
	slices.SortFunc(all, func(a, b nodereport.Offer) int { return strings.Compare(a.Resource, b.Resource) })
	return all
}

// partResource is "nvidia.com/mig-1g.10gb", of "NVIDIA A100-SXM4-80GB MIG 1g.10gb".
// The plus of "1g.10gb+me" is not allowed in a name.
func partResource(part nvml.Instance) string {
	profile := gpu.ProfileOf(part.Name)
	if profile == "" {
		return ""
	}
	return "nvidia.com/mig-" + strings.ReplaceAll(profile, "+", ".")
}

// Watts of milliwatts, to the nearest.
func Watts(milli int) int { return (milli + 500) / 1000 }
